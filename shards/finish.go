package shards

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/crash"
	"hgld/labels"

	"golang.org/x/sync/errgroup"
)

// Finish makes a data set of the shards that the slices of a build have left in dir. It takes everything from the parts
// of the slices, and opens neither inputs nor images nor shards. The files equal those of Build. The options must have
// the Settings of the slices; Hierarchy, Made and HEIF are not used.
//
// If slices are missing, the error is a *MissingSlicesError. A data set that is finished already stays as it is.
// Finish returns the other errors of Build too.
func Finish(ctx context.Context, address string, o Options) (r *Result, err error) {
	defer nameFolder(&err, address)
	o = o.withDefaults()
	dir, err := folderAt(ctx, address)
	if err != nil {
		return nil, err
	}
	if !dir.mayExist(partsFolder) && !dir.mayExist(ManifestFile) {
		return nil, &MissingSlicesError{}
	}
	lock, err := prepareFolder(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	parts, err := completeParts(dir)
	if missing := (*MissingSlicesError)(nil); errors.As(err, &missing) && missing.Of == 0 {
		if m, e := readSound(dir); e == nil {
			return &Result{Manifest: m, Kept: len(m.Files), Before: true}, lock.Remove()
		}
	}
	if err != nil {
		return nil, err
	}
	rows, release := dir.snapshot()
	defer release()
	b, err := partsBuilder(dir, rows, o, parts)
	if err != nil {
		return nil, err
	}
	if r, err = b.publish(ctx, func() ([]Input, error) { return joinInputs(parts) }); err != nil {
		return nil, err
	}
	return r, lock.Remove()
}

// MissingSlicesError reports slices that have not left their part.
type MissingSlicesError struct {
	Missing []int // slices, from 1; nil if there are no slices at all
	Of      int   // number of slices
}

// Error lists the missing slices.
func (e *MissingSlicesError) Error() string {
	if e.Of == 0 {
		return "no slice has been built here"
	}
	var list []string
	for _, n := range e.Missing {
		list = append(list, strconv.Itoa(n))
	}
	return fmt.Sprintf("of %d slices, these are missing: %s", e.Of, strings.Join(list, ","))
}

// SettingsError reports that the slices were built with other settings.
type SettingsError struct{ Slices, Here Settings }

// Error shows both.
func (e *SettingsError) Error() string {
	slices, _ := json.Marshal(e.Slices) // numbers and truth values
	here, _ := json.Marshal(e.Here)
	return fmt.Sprintf("the slices were built with the settings %s, but these are %s", slices, here)
}

// completeParts returns the parts of all slices of one build, in order.
func completeParts(dir folder) ([]*part, error) {
	all, err := readParts(dir, everyPart)
	if err != nil {
		return nil, err
	}
	best := &MissingSlicesError{}
	for _, of := range slices.Sorted(maps.Keys(all)) {
		byPlan := map[Hash][]*part{}
		for _, p := range all[of] {
			byPlan[p.Plan] = append(byPlan[p.Plan], p)
		}
		for _, parts := range byPlan {
			if len(parts) == of {
				slices.SortFunc(parts, func(x, y *part) int { return cmp.Compare(x.Slice, y.Slice) })
				return parts, nil
			}
			if len(parts) > best.Of-len(best.Missing) {
				best = missingOf(parts, of)
			}
		}
	}
	return nil, best
}

// missingOf lists the slices without a part.
func missingOf(parts []*part, of int) *MissingSlicesError {
	e := &MissingSlicesError{Of: of}
	there := map[int]bool{}
	for _, p := range parts {
		there[p.Slice] = true
	}
	for n := 1; n <= of; n++ {
		if !there[n] {
			e.Missing = append(e.Missing, n)
		}
	}
	return e
}

// partsBuilder returns a builder whose shards are those of parts. It reads their small columns in rows.
func partsBuilder(dir, rows folder, o Options, parts []*part) (*builder, error) {
	first := parts[0]
	if first.Settings != o.Settings {
		return nil, &SettingsError{Slices: first.Settings, Here: o.Settings}
	}
	text, err := dir.read(partHierarchy(first.Hierarchy), maxManifest)
	if err != nil {
		return nil, err
	}
	if sha256.Sum256(text) != first.Hierarchy {
		return nil, &DamageError{partHierarchy(first.Hierarchy), -1, "the hash differs from the part's"}
	}
	classes, err := labels.ReadHierarchy(bytes.NewReader(text), HierarchyFile)
	if err != nil {
		return nil, err
	}
	o.Made = first.Made
	b := &builder{dir: dir, o: o, made: make([]made, first.Shards), plan: &plan{shards: make([]planned, first.Shards),
		notes: first.Notes, schema: &Schema{Classes: classes, Landmarks: first.Landmarks}}}
	if err := b.plan.schema.check(); err != nil {
		return nil, err
	}
	b.outline = b.plan.schema.outline()
	for _, p := range parts {
		if minorVersion(p.Tool) != minorVersion(o.Tool) || p.Hierarchy != first.Hierarchy || p.Shards != first.Shards {
			return nil, fmt.Errorf("slice %d of %d was built by %s with other classes or another version than the first slice; "+
				"build it again", p.Slice, p.Of, p.Tool)
		}
	}
	if err := b.addParts(parts, rows); err != nil {
		return nil, err
	}
	if missing := slices.IndexFunc(b.made, func(m made) bool { return m.index == nil }); missing >= 0 {
		return nil, fmt.Errorf("shard %d of %d is in no part; build the slices again", missing, len(b.made))
	}
	return b, b.chooseFolder()
}

// addParts adds the shards of the parts, after a look at the sidecar and the size of each, of many at the same time.
// Where rows downloads what is opened, it opens their small columns meanwhile.
func (b *builder) addParts(parts []*part, rows folder) error {
	defer func(before folder) { b.dir = before }(b.dir)
	var files []File
	for _, p := range parts {
		for i := range p.Files {
			files = append(files, p.Files[i].File)
		}
	}
	b.dir = withList(b.dir, files)
	g := errgroup.Group{}
	g.SetLimit(sidecarsAtOnce)
	found := map[*partFile]*foundShard{}
	for _, p := range parts {
		if len(p.Files) > 0 {
			g.Go(func() error {
				defer crash.Guard()
				if f, _, err := rows.open(rowsName(p.Slice, p.Of)); err == nil {
					return f.Close()
				}
				return nil // eachPartRow returns the error
			})
		}
		for i := range p.Files {
			f, at := &p.Files[i], new(foundShard)
			found[f] = at
			g.Go(func() error {
				defer crash.Guard()
				if shardNames().MatchString(f.Name) {
					at.at, at.index, at.err = b.findShard(f)
				}
				return nil
			})
		}
	}
	g.Wait()
	for _, p := range parts {
		for i := range p.Files {
			if err := b.addPart(p, rows, &p.Files[i], found[&p.Files[i]]); err != nil {
				return err
			}
		}
	}
	return nil
}

// foundShard is where a shard of a part lies, and its sidecar.
type foundShard struct {
	at    string
	index *index
	err   error
}

// addPart adds a shard of a part.
func (b *builder) addPart(p *part, rows folder, f *partFile, found *foundShard) error {
	if f.Number < 0 || f.Number >= len(b.made) || b.made[f.Number].index != nil || !shardNames().MatchString(f.Name) {
		return fmt.Errorf("shard %d of %d, %.80q, is wrong in the part of slice %d; build that slice again", f.Number,
			len(b.made), f.Name, p.Slice)
	}
	if was := b.heif(); was != "" && f.HEIF != "" && was != f.HEIF {
		return fmt.Errorf("%s was converted by %s, but other shards by %s; build slice %d of %d again", f.Name, f.HEIF, was,
			p.Slice, p.Of)
	}
	if found.err != nil {
		return found.err
	}
	b.made[f.Number] = made{file: f.File, at: found.at, index: found.index, failures: f.Failures, heif: f.HEIF,
		rows: &partRows{rows, rowsName(p.Slice, p.Of), f.RowsAt, f.RowsSize, f.Rows}, kept: true}
	b.plan.shards[f.Number] = planned{name: f.Name, split: f.Split, key: f.Plan, count: f.File.Rows + len(f.Failures)}
	return nil
}

// findShard returns where a shard of a part lies, and its sidecar. If the move of both was interrupted between the
// sidecar and the shard, it moves the sidecar back.
func (b *builder) findShard(f *partFile) (at string, x *index, err error) {
	waiting := waitingPath(f.Name)
	if checkSize(b.dir, waiting, f.Bytes) == nil && checkSize(b.dir, indexName(waiting), f.IndexBytes) != nil {
		data, err := b.dir.read(indexName(f.Name), f.IndexBytes)
		if err == nil && sha256.Sum256(data) == f.IndexSHA256 {
			if err := b.dir.move(indexName(f.Name), indexName(waiting)); err != nil {
				return "", nil, err
			}
		}
	}
	for _, at := range []string{waiting, f.Name} {
		there := f.File
		there.Name = at
		if x, err = readIndex(b.dir, there, b.outline); err == nil {
			return at, x, nil
		}
	}
	return "", nil, fmt.Errorf("%w; build its slice again", orDamage(f.Name, err))
}

// joinInputs returns the inputs, each of which one slice has hashed.
func joinInputs(parts []*part) ([]Input, error) {
	all := slices.Clone(parts[0].Inputs)
	for _, p := range parts {
		if len(p.Inputs) != len(all) {
			return nil, fmt.Errorf("slice %d of %d has %d inputs, and the first slice %d; build the slices again", p.Slice, p.Of,
				len(p.Inputs), len(all))
		}
		for i, in := range p.Inputs {
			switch {
			case in == (Input{}) || all[i] == in:
			case all[i] == (Input{}):
				all[i] = in
			default:
				return nil, fmt.Errorf("%s was changed between the slices; build the slices again", in.Name)
			}
		}
	}
	if i := slices.Index(all, Input{}); i >= 0 {
		return nil, fmt.Errorf("input %d was hashed by no slice; build the slices again", i+1)
	}
	return all, nil
}

// dropOtherPart removes the part that a slice has left of other items or settings.
func (b *builder) dropOtherPart(n, of int) error {
	parts, err := readParts(b.dir, func(slice, count int) bool { return slice == n && count == of })
	if err == nil && len(parts[of]) > 0 && parts[of][0].Plan != b.plan.id() {
		return b.dir.remove(partName(n, of))
	}
	return err
}

// finished reports whether the folder has a finished data set of the planned shards.
func (b *builder) finished() (bool, error) {
	m, err := readSound(b.dir)
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*DamageError)) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return slices.EqualFunc(m.Files, b.plan.shards, func(f File, p planned) bool {
		return f.Name == p.name && f.Plan == p.key
	}), nil
}
