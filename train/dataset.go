// Package train is stage 5 of hgld: it reads images with a hierarchy of labels
// through a Dataset (data/*.parquet, wired up by cmd/hgld), trains a retrieval
// network with a rank loss, and writes checkpoints to a run directory (the layout
// is in checkpoint.go).
//
// A run is an iterator of events (see [Run.Events]); nothing here prints. What a
// run computes depends on its configuration, its data and its seed alone: not on
// the number of threads or workers, and not on how often it was stopped and
// resumed. Embeddings that others made are measured by the same [Evaluate].
package train

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"

	"hgld/labels"
	"hgld/train/sample"
)

// Dataset is images with labels. It is read by several goroutines at once.
type Dataset interface {
	// Len returns the number of items.
	Len() int
	// Levels names the levels, finest first.
	Levels() []string
	// Classes names the classes of a level.
	Classes(level int) []string
	// Labels returns the classes of item i, finest first, −1 for none. Two items
	// of any two data sets that are evaluated together share a class if and only
	// if the numbers are equal.
	Labels(i int) labels.Path
	// Image returns the encoded image of item i.
	Image(ctx context.Context, i int) ([]byte, error)
	// ID names item i, for messages and per-query results.
	ID(i int) string
}

// Subset is a part of a data set, in the order of Rows. Classes keep their
// numbers, so that parts of one data set can be evaluated against each other.
type Subset struct {
	Of   Dataset // the data set that items are chosen from
	Rows []int   // the chosen items of Of, in order
}

// Len returns the number of rows.
func (s *Subset) Len() int { return len(s.Rows) }

// Levels returns the levels of the whole.
func (s *Subset) Levels() []string { return s.Of.Levels() }

// Classes returns the classes of the whole.
func (s *Subset) Classes(level int) []string { return s.Of.Classes(level) }

// Labels returns the classes of the row.
func (s *Subset) Labels(i int) labels.Path { return s.Of.Labels(s.Rows[i]) }

// Image returns the image of the row.
func (s *Subset) Image(ctx context.Context, i int) ([]byte, error) {
	return s.Of.Image(ctx, s.Rows[i])
}

// ID returns the name of the row.
func (s *Subset) ID(i int) string { return s.Of.ID(s.Rows[i]) }

// Join puts data sets of the same levels and classes one after the other.
func Join(parts ...Dataset) Dataset {
	j := &joined{parts: parts}
	n := 0
	for _, p := range parts {
		n += p.Len()
		j.ends = append(j.ends, n)
	}
	return j
}

type joined struct {
	parts []Dataset
	ends  []int // of each part
}

// at returns the part of item i and its number there.
func (j *joined) at(i int) (Dataset, int) {
	p := sort.SearchInts(j.ends, i+1)
	if p > 0 {
		i -= j.ends[p-1]
	}
	return j.parts[p], i
}

func (j *joined) Len() int                   { return j.ends[len(j.ends)-1] }
func (j *joined) Levels() []string           { return j.parts[0].Levels() }
func (j *joined) Classes(level int) []string { return j.parts[0].Classes(level) }

func (j *joined) Labels(i int) labels.Path {
	d, at := j.at(i)
	return d.Labels(at)
}

func (j *joined) Image(ctx context.Context, i int) ([]byte, error) {
	d, at := j.at(i)
	return d.Image(ctx, at)
}

func (j *joined) ID(i int) string {
	d, at := j.at(i)
	return d.ID(at)
}

// Path returns the path that the image of item i had where its data set comes from, or "" if
// the data set does not know it.
func Path(ctx context.Context, d Dataset, i int) (string, error) {
	switch d := d.(type) {
	case *Subset:
		return Path(ctx, d.Of, d.Rows[i])
	case *joined:
		part, at := d.at(i)
		return Path(ctx, part, at)
	case interface {
		Path(ctx context.Context, i int) (string, error)
	}:
		return d.Path(ctx, i)
	}
	return "", nil
}

// HoldOut splits a data set by class: a share of the finest classes, chosen by
// seed, goes to held and all others to rest, so that held measures retrieval of
// classes that training never saw (the open-set protocol of Stanford Online
// Products and iNaturalist). The choice is made within the classes of the next
// level: each gives its share of classes, rounded up or down, and the rounding
// evens out over them. Items without a finest class are in neither part.
func HoldOut(d Dataset, share float64, seed uint64) (rest, held *Subset, err error) {
	if share <= 0 || share >= 1 {
		return nil, nil, fmt.Errorf("train: hold-out: share is %v, want more than 0 and less than 1", share)
	}
	type family struct {
		parent  int32
		classes []int32
	}
	var families []*family
	byParent, known := map[int32]*family{}, map[int32]bool{}
	for i := range d.Len() {
		p := d.Labels(i)
		if p[0] < 0 || known[p[0]] {
			continue
		}
		known[p[0]] = true
		parent := int32(-1)
		if len(p) > 1 {
			parent = p[1]
		}
		if byParent[parent] == nil {
			byParent[parent] = &family{parent: parent}
			families = append(families, byParent[parent])
		}
		byParent[parent].classes = append(byParent[parent].classes, p[0])
	}
	slices.SortFunc(families, func(a, b *family) int { return int(a.parent) - int(b.parent) })
	random := sample.NewRandom(seed, holdOutStream)
	for i := len(families) - 1; i > 0; i-- {
		j := random.IntN(i + 1)
		families[i], families[j] = families[j], families[i]
	}
	// Every class advances a counter by share; it is held where the counter
	// passes a whole number.
	isHeld := map[int32]bool{}
	counter := random.Float64()
	for _, f := range families {
		slices.Sort(f.classes)
		for _, at := range random.Choose(len(f.classes), len(f.classes)) {
			counter += share
			if counter >= 1 {
				counter--
				isHeld[f.classes[at]] = true
			}
		}
	}
	rest, held = &Subset{Of: d}, &Subset{Of: d}
	for i := range d.Len() {
		switch class := d.Labels(i)[0]; {
		case class < 0:
		case isHeld[class]:
			held.Rows = append(held.Rows, i)
		default:
			rest.Rows = append(rest.Rows, i)
		}
	}
	if len(rest.Rows) == 0 || len(held.Rows) == 0 {
		return nil, nil, fmt.Errorf("train: hold-out: a share of %v of %d classes leaves one side without images; "+
			"hold out another share, or none: hold_out 0 trains on all, and query: train measures them", share, len(known))
	}
	return rest, held, nil
}

// Streams keep the random numbers of different purposes apart.
const (
	holdOutStream = iota + 1
	augmentStream
	projectionStream
)

// paths returns the labels of all items and checks that they have all levels.
func paths(d Dataset) ([]labels.Path, error) {
	levels := len(d.Levels())
	if levels == 0 || d.Len() == 0 {
		return nil, fmt.Errorf("train: the data set has %d items and %d levels", d.Len(), levels)
	}
	list := make([]labels.Path, d.Len())
	for i := range list {
		list[i] = d.Labels(i)
		if len(list[i]) != levels {
			return nil, fmt.Errorf("train: %s has %d levels, the data set %d", d.ID(i), len(list[i]), levels)
		}
	}
	return list, nil
}

// checkTree verifies that every class has one parent: only then does the number
// of equal labels say how much two items share.
func checkTree(d Dataset, list []labels.Path) error {
	parent := make([]map[int32]int, len(d.Levels())) // class -> first item that has it
	for l := range parent {
		parent[l] = map[int32]int{}
	}
	for i, p := range list {
		for l := 0; l+1 < len(p); l++ {
			first, seen := parent[l][p[l]]
			if !seen {
				parent[l][p[l]] = i
			} else if p[l] >= 0 && list[first][l+1] != p[l+1] {
				return fmt.Errorf("train: %s %.80q has two parents: %s and %s are of different %s; the levels must be a tree",
					d.Levels()[l], className(d, l, p[l]), d.ID(first), d.ID(i), d.Levels()[l+1])
			}
		}
	}
	return nil
}

// renumber numbers the classes of each level from 0 in the order of their
// numbers, so that there are as many as the data has, and returns how many.
func renumber(list []labels.Path) (dense []labels.Path, counts []int) {
	levels := len(list[0])
	numbers := make([]map[int32]int32, levels)
	for l := range levels {
		present := map[int32]bool{}
		for _, p := range list {
			if p[l] >= 0 {
				present[p[l]] = true
			}
		}
		numbers[l] = map[int32]int32{-1: -1}
		for i, c := range slices.Sorted(maps.Keys(present)) {
			numbers[l][c] = int32(i)
		}
		counts = append(counts, len(present))
	}
	dense = make([]labels.Path, len(list))
	for i, p := range list {
		dense[i] = make(labels.Path, levels)
		for l, c := range p {
			dense[i][l] = numbers[l][max(c, -1)]
		}
	}
	return dense, counts
}

func className(d Dataset, level int, class int32) string {
	if names := d.Classes(level); int(class) < len(names) {
		return names[class]
	}
	return fmt.Sprint(class)
}

// Fingerprint identifies the items of data sets, their labels, and their pixels where
// the data sets know those: a SHA-256 in hexadecimal. Those that are nil are left out.
func Fingerprint(sets ...Dataset) (string, error) {
	h := sha256.New()
	for i, d := range sets {
		if d == nil {
			continue
		}
		list, err := paths(d)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, i, fingerprint(d, list), pixels(d))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Pixels identifies the images that items are taken from, "" where their data set does not
// know that.
func Pixels(d Dataset) string { return pixels(d) }

// pixels is what identifies the images that items are taken from, "" where their data
// set does not know that. In a choice of items it is that of the whole.
func pixels(d Dataset) string {
	switch d := d.(type) {
	case interface{ Fingerprint() string }:
		sum := sha256.Sum256([]byte(d.Fingerprint()))
		return hex.EncodeToString(sum[:])
	case *Subset:
		return pixels(d.Of)
	case *joined:
		all := ""
		for _, part := range d.parts {
			all += pixels(part)
		}
		return all
	}
	return ""
}

// fingerprint identifies the items and their labels. A data set that knows a
// stronger one, such as the hash of a manifest that covers the pixels, has a
// method Fingerprint() string.
func fingerprint(d Dataset, list []labels.Path) string {
	h := sha256.New()
	for l, name := range d.Levels() {
		fmt.Fprintf(h, "%d %q\n", l, name)
	}
	if f, ok := d.(interface{ Fingerprint() string }); ok {
		io.WriteString(h, f.Fingerprint())
	}
	var row []byte
	for i, p := range list {
		row = append(row[:0], d.ID(i)...)
		for _, c := range p {
			row = binary.LittleEndian.AppendUint32(append(row, 0), uint32(c))
		}
		h.Write(append(row, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil))
}
