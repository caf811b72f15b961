package shards

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"

	"golang.org/x/sync/errgroup"

	"hgld/internal/crash"
	"hgld/labels"
)

// A slice leaves a part: what Finish needs in order to write the other files of a data set without reading images,
// inputs or shards again. The parts lie in partsFolder until the data set is finished:
//
//	3-of-8.part                     the part of slice 3 of 8: a line with the SHA-256 of the rest, and JSON
//	3-of-8.rows                     the small columns of its shards, one after another: a line of JSON for each row, and
//	                                each shard compressed by gzip for itself
//	hierarchy-1f09a2c3b4d5e6f7.json the tree of classes, named for its hash
const partsFolder = ".hgld-parts"

// partVersion is the format version of parts.
const partVersion = 3

type part struct {
	Version   int        `json:"hgld_part"`
	Slice     int        `json:"slice"`
	Of        int        `json:"of"`
	Plan      Hash       `json:"plan"`   // of all shards of all slices
	Shards    int        `json:"shards"` // of all slices
	Tool      string     `json:"tool"`   // hgld's version
	Settings  Settings   `json:"settings"`
	Landmarks bool       `json:"landmarks"`
	Hierarchy Hash       `json:"hierarchy"`
	Notes     []string   `json:"notes,omitempty"`
	Inputs    []Input    `json:"inputs"` // those that this slice has not hashed are empty
	Made      Provenance `json:"made"`
	Files     []partFile `json:"files"`
}

// partFile is a shard of a part.
type partFile struct {
	File
	Number   int       `json:"number"`      // among all shards, from 0
	Modified int64     `json:"modified"`    // time of the file in nanoseconds, or a part of a hash of the object's version
	Rows     Hash      `json:"rows_sha256"` // of its part of the small columns
	RowsAt   int64     `json:"rows_at"`     // where that begins
	RowsSize int64     `json:"rows_bytes"`
	Failures []Failure `json:"failures,omitempty"`
	HEIF     string    `json:"heif,omitempty"`
}

func partName(n, of int) string { return fmt.Sprintf("%s/%d-of-%d.part", partsFolder, n, of) }

func partHierarchy(h Hash) string { return fmt.Sprintf("%s/hierarchy-%x.json", partsFolder, h[:8]) }

// rowsName returns the name of the small columns of a slice's shards.
func rowsName(n, of int) string { return fmt.Sprintf("%s/%d-of-%d.rows", partsFolder, n, of) }

// partRows are the small columns of a shard in a part.
type partRows struct {
	dir      folder
	name     string
	at, size int64
	sum      Hash
}

// id is a hash of everything that decides the shards of all slices.
func (p *plan) id() (id Hash) {
	h := sha256.New()
	for i := range p.shards {
		fmt.Fprintf(h, "%s %s\n", p.shards[i].name, p.shards[i].key)
	}
	h.Sum(id[:0])
	return id
}

// partRow is a row of a shard without what its sidecar has.
type partRow struct {
	Path   string `json:"p"`
	W      int    `json:"w"`
	H      int    `json:"h"`
	SHA256 []byte `json:"s"`

	Attributes
}

// writePart writes the part of a slice whose shards are built.
func (b *builder) writePart(ctx context.Context, src Source, n, of int) error {
	if err := b.dir.makeFolder(partsFolder); err != nil {
		return err
	}
	mine := b.slice(n, of)
	b.outline = b.plan.schema.outline()
	out := part{Version: partVersion, Slice: n, Of: of, Plan: b.plan.id(), Shards: len(b.plan.shards), Tool: b.o.Tool,
		Settings: b.o.Settings, Landmarks: b.plan.schema.Landmarks, Notes: b.plan.notes, Made: b.o.Made,
		Files: make([]partFile, len(mine))}
	g, inner := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		defer crash.Guard()
		out.Inputs, err = src.Inputs(inner, func(i int) bool { return i%of == n-1 })
		return err
	})
	g.Go(func() error {
		defer crash.Guard()
		return b.writeRows(inner, mine, out.Files, rowsName(n, of))
	})
	if err := g.Wait(); err != nil {
		return err
	}
	var tree bytes.Buffer
	if err := labels.WriteHierarchy(&tree, b.plan.schema.Classes); err != nil {
		return err
	}
	out.Hierarchy = sha256.Sum256(tree.Bytes())
	text, err := encodeJSON(out)
	if err != nil {
		return err
	}
	if err := b.writeIn(partHierarchy(out.Hierarchy), tree.Bytes()); err != nil {
		return err
	}
	return b.writeIn(partName(n, of), fmt.Appendf(nil, "%x\n%s", sha256.Sum256(text), text))
}

// writeIn writes a file of the data set's folder.
func (b *builder) writeIn(name string, data []byte) error {
	if err := b.dir.checkPlace(name); err != nil {
		return err
	}
	return b.dir.write(name, data)
}

// writeRows writes the small columns of shards that are built, of a few at a time, and describes the shards in files.
func (b *builder) writeRows(ctx context.Context, mine []int, files []partFile, name string) error {
	if err := b.dir.checkPlace(name); err != nil {
		return err
	}
	to := &companionWriter{dir: b.dir}
	f, err := to.create(name)
	if err != nil {
		return err
	}
	defer to.close()
	there := withList(b.dir, nil)
	texts := make([][]byte, b.o.Workers)
	for from := 0; from < len(mine); from += len(texts) {
		now := mine[from:min(from+len(texts), len(mine))]
		g, ctx := errgroup.WithContext(ctx)
		for k, i := range now {
			g.Go(func() (err error) {
				defer crash.Guard()
				files[from+k], texts[k], err = b.rowsOf(ctx, there, i)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for k := range now {
			files[from+k].RowsAt = f.size
			if _, err := f.Write(texts[k]); err != nil {
				return err
			}
		}
	}
	return to.commit()
}

// rowsOf returns the small columns of a shard that is built, and describes it but for their place.
func (b *builder) rowsOf(ctx context.Context, dir folder, i int) (partFile, []byte, error) {
	m := &b.made[i]
	set := &Set{dir: dir, manifest: b.outline, classes: b.plan.schema.Classes}
	var text bytes.Buffer
	zip, err := gzip.NewWriterLevel(&text, gzip.BestSpeed)
	if err != nil {
		return partFile{}, nil, err
	}
	lines := json.NewEncoder(zip)
	err = set.each(ctx, m.shard(dir), func(_ int, r *Row) error {
		return lines.Encode(partRow{Path: r.Path, W: r.W, H: r.H, SHA256: r.SHA256[:], Attributes: r.Attributes})
	})
	if err := errors.Join(err, zip.Close()); err != nil {
		return partFile{}, nil, err
	}
	stamp, err := stampOf(dir, m.at)
	return partFile{File: m.file, Number: i, Modified: stamp, Rows: sha256.Sum256(text.Bytes()),
		RowsSize: int64(text.Len()), Failures: m.failures, HEIF: m.heif}, text.Bytes(), err
}

// stampOf returns the stamp of a file.
func stampOf(dir folder, name string) (int64, error) {
	f, _, err := dir.open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.stamp()
}

// eachPartRow passes the rows of a shard to see, without reading the shard.
func eachPartRow(ctx context.Context, x *shard, see func(at int, row *Row) error) error {
	name := x.rows.name
	f, size, err := x.rows.dir.open(name)
	if err != nil {
		return orDamage(name, err)
	}
	defer f.Close()
	if x.rows.at < 0 || x.rows.size < 0 || x.rows.size > size-x.rows.at {
		return &DamageError{name, -1, fmt.Sprintf("%d bytes, and %s has %d from byte %d on", size, x.file.Name, x.rows.size,
			x.rows.at)}
	}
	text := make([]byte, x.rows.size)
	if _, err := f.ReadAtContext(ctx, text, x.rows.at); err != nil && err != io.EOF {
		return err
	}
	if sha256.Sum256(text) != x.rows.sum {
		return &DamageError{name, -1, "the hash differs from the part's"}
	}
	zip, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return &DamageError{name, -1, err.Error()}
	}
	lines := json.NewDecoder(bufio.NewReader(zip))
	for at := range x.file.Rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		var r partRow
		if err := lines.Decode(&r); err != nil {
			return &DamageError{name, at, err.Error()}
		}
		row := &Row{ID: x.index.ids[at], Path: r.Path, Split: x.file.Split, Labels: x.index.path(at), W: r.W, H: r.H,
			Attributes: r.Attributes}
		copy(row.SHA256[:], r.SHA256)
		if err := see(at, row); err != nil {
			return err
		}
	}
	return nil
}

var partNames = regexp.MustCompile(`^(\d+)-of-(\d+)\.part$`)

// readParts returns the parts in the folder of a data set by their numbers of slices, those that want reports. Those
// that a newer version of hgld has written, or that are damaged, are left out.
func readParts(dir folder, want func(n, of int) bool) (map[int][]*part, error) {
	names, err := dir.list(partsFolder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var g errgroup.Group
	g.SetLimit(sidecarsAtOnce)
	read := make([]*part, len(names))
	for i, name := range names {
		m := partNames.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[1])
		of, _ := strconv.Atoi(m[2])
		if n < 1 || n > of || !want(n, of) {
			continue
		}
		g.Go(func() error {
			defer crash.Guard()
			text, err := dir.read(partsFolder+"/"+name, maxManifest)
			if err != nil && !errors.As(err, new(*DamageError)) {
				return err
			}
			if p, err := decodePart(text); err == nil && p.Slice == n && p.Of == of {
				read[i] = p
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := map[int][]*part{}
	for _, p := range read {
		if p != nil {
			all[p.Of] = append(all[p.Of], p)
		}
	}
	return all, nil
}

func everyPart(int, int) bool { return true }

// decodePart parses a part.
func decodePart(text []byte) (*part, error) {
	sum, text, _ := bytes.Cut(text, []byte("\n"))
	if string(sum) != fmt.Sprintf("%x", sha256.Sum256(text)) {
		return nil, errors.New("damaged")
	}
	p := &part{}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, err
	}
	if p.Version != partVersion {
		return nil, fmt.Errorf("format version %d", p.Version)
	}
	var source struct {
		Made struct{ Source json.RawMessage }
	}
	if err := json.Unmarshal(text, &source); err != nil {
		return nil, err
	}
	if source.Made.Source != nil {
		p.Made.Source = source.Made.Source // a map would order its keys anew
	}
	return p, nil
}

// readVouchers returns the shards that parts describe, by name. A slice does not read those of the other slices beside
// it, which describe other shards: over all slices, that would take the square of their number.
func (b *builder) readVouchers() (map[string][]partFile, error) {
	parts, err := readParts(b.dir, func(n, of int) bool { return b.foreign == nil || !b.foreign(n, of) })
	if err != nil {
		return nil, err
	}
	list := map[string][]partFile{}
	for _, of := range parts {
		for _, p := range of {
			if minorVersion(p.Tool) != minorVersion(b.o.Tool) {
				continue
			}
			for _, f := range p.Files {
				list[f.Name] = append(list[f.Name], f)
			}
		}
	}
	return list, nil
}

// vouched returns what a part says of a shard whose file and sidecar are as they were when the part was written. Such a
// shard need not be read.
func (b *builder) vouched(p *planned, f file, size int64, sidecar []byte) *partFile {
	stamp, err := f.stamp()
	if err != nil {
		return nil
	}
	for _, v := range b.vouchers[p.name] {
		if v.Plan == p.key && v.Bytes == size && v.Modified == stamp &&
			v.IndexSHA256 == sha256.Sum256(sidecar) {
			return &v
		}
	}
	return nil
}
