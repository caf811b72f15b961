package shards

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"sort"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"hgld/internal/crash"
	"hgld/labels"
)

// Set is a data set opened for reading. It keeps the classes and the positions of all
// images in memory, 28 bytes per row and 4 per level, and reads an image by one read at
// a known offset. It is safe for concurrent use.
type Set struct {
	dir      folder
	manifest *Manifest
	classes  *labels.Hierarchy
	shards   []*shard

	naming sync.Once
	names  *labels.Lookup
}

// shard is an open shard of a Set.
type shard struct {
	file  File
	dir   folder // of the data set
	name  string // of the shard's file within dir
	index *index
	rows  *partRows // which are read in place of the shard; nil: none

	once   sync.Once
	handle file
	err    error

	checking sync.Mutex
	sound    bool // the whole file was compared with its checksum
}

// Open opens the data set in dir. It compares the manifest, the tree of classes and the
// sidecars with their hashes, and the shards with their sizes; an image is checked when
// it is read. A difference is a *DamageError. ctx ends the requests to an object store, also those of
// reads that have no context.
func Open(ctx context.Context, dir string) (s *Set, err error) {
	defer nameFolder(&err, dir)
	return open(ctx, dir)
}

func open(ctx context.Context, address string) (*Set, error) {
	dir, err := folderAt(ctx, address)
	if err != nil {
		return nil, err
	}
	m, err := readSound(dir)
	if err != nil {
		return nil, err
	}
	s := &Set{dir: dir, manifest: m}
	if s.classes, err = readClasses(dir, m); err != nil {
		return nil, err
	}
	s.shards = make([]*shard, len(m.Files))
	errs := make([]error, len(m.Files)) // the first in the order of the files is returned
	var g errgroup.Group
	g.SetLimit(sidecarsAtOnce)
	list := withList(dir, m.Files)
	for i, f := range m.Files {
		g.Go(func() error {
			defer crash.Guard()
			x, err := readIndex(list, f, m)
			s.shards[i], errs[i] = &shard{file: f, dir: list, name: f.Name, index: x}, err
			return err
		})
	}
	if g.Wait() != nil {
		return nil, errs[slices.IndexFunc(errs, func(err error) bool { return err != nil })]
	}
	return s, nil
}

// sidecarsAtOnce is the number of sidecars that are read at the same time, which matters in an object store.
const sidecarsAtOnce = 16

// readClasses reads hierarchy.json and compares it with the manifest.
func readClasses(dir folder, m *Manifest) (*labels.Hierarchy, error) {
	data, err := dir.read(HierarchyFile, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &DamageError{HierarchyFile, -1, "missing"}
	}
	if err != nil {
		return nil, err
	}
	if sha256.Sum256(data) != m.Hierarchy.SHA256 {
		return nil, &DamageError{HierarchyFile, -1, "the hash differs from " + ManifestFile}
	}
	h, err := labels.ReadHierarchy(bytes.NewReader(data), HierarchyFile)
	if err != nil {
		return nil, &DamageError{HierarchyFile, -1, err.Error()}
	}
	same := len(h.Levels) == len(m.Levels)
	for l := 0; same && l < len(h.Levels); l++ {
		same = h.Levels[l].Name == m.Levels[l].Name && slices.EqualFunc(h.Levels[l].Classes, m.Levels[l].Classes,
			func(c labels.Class, name string) bool { return c.Name == name })
	}
	if !same {
		return nil, &DamageError{ManifestFile, -1, "its levels differ from " + HierarchyFile}
	}
	return h, nil
}

// readIndex reads a sidecar and compares it with the manifest and with the size
// of its shard.
func readIndex(dir folder, f File, m *Manifest) (*index, error) {
	name := indexName(f.Name)
	damage := func(format string, args ...any) (*index, error) {
		return nil, &DamageError{name, -1, fmt.Sprintf(format, args...)}
	}
	data, err := dir.read(name, f.IndexBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return damage("missing")
	}
	if err != nil {
		return nil, err
	}
	if int64(len(data)) != f.IndexBytes {
		return damage("%d bytes, want %d", len(data), f.IndexBytes)
	}
	if sha256.Sum256(data) != f.IndexSHA256 {
		return damage("the hash differs from %s", ManifestFile)
	}
	x, err := decodeIndex(data)
	if err != nil {
		return damage("%v", err)
	}
	if x.rows() != f.Rows || x.shardBytes != f.Bytes || x.shardSHA != f.SHA256 || x.levels != len(m.Levels) {
		return damage("belongs to another shard")
	}
	for i, c := range x.classes {
		if n := len(m.Levels[i%x.levels].Classes); int(c) >= n {
			return damage("row %d: class %d of %d", i/x.levels, c, n)
		}
	}
	if err := checkSize(dir, f.Name, f.Bytes); err != nil {
		return nil, err
	}
	return x, nil
}

// Close closes the files. The Set and its Views must not be used afterwards.
func (s *Set) Close() error {
	var errs []error
	for _, sh := range s.shards {
		if sh.handle != nil {
			errs = append(errs, sh.handle.Close())
		}
	}
	return errors.Join(errs...)
}

// Manifest returns the manifest. It must not be changed.
func (s *Set) Manifest() *Manifest { return s.manifest }

// Classes returns the tree of classes. It must not be changed.
func (s *Set) Classes() *labels.Hierarchy { return s.classes }

// of returns the shards of a split.
func (s *Set) of(split labels.Split) (list []*shard) {
	for _, sh := range s.shards {
		if sh.file.Split == split {
			list = append(list, sh)
		}
	}
	return list
}

// lookup returns the index of classes by name.
func (s *Set) lookup() *labels.Lookup {
	s.naming.Do(func() { s.names = s.classes.Lookup() })
	return s.names
}

// open opens the shard's file on first use.
func (sh *shard) open() (file, error) {
	sh.once.Do(func() { sh.handle, _, sh.err = sh.dir.open(sh.name) })
	return sh.handle, sh.err
}

// View is a split of a Set, or a selection of its rows. It implements the trainer's
// Dataset and is safe for concurrent use.
type View struct {
	set     *Set
	shards  []*shard
	starts  []int // row of the split at which each shard begins
	rows    []int // selected rows; nil: all
	length  int
	classes [][]string
}

// Split returns the rows of a split in the order of its shards.
func (s *Set) Split(name labels.Split) (*View, error) {
	v := &View{set: s}
	for _, sh := range s.of(name) {
		v.shards = append(v.shards, sh)
		v.starts = append(v.starts, v.length)
		v.length += sh.index.rows()
	}
	if len(v.shards) == 0 {
		return nil, fmt.Errorf("shards: %s has no split %.80q, only %v", s.dir, name, s.manifest.Splits())
	}
	for _, l := range s.manifest.Levels {
		v.classes = append(v.classes, l.Classes)
	}
	return v, nil
}

// Filter returns a view of the given rows of v, in the given order.
func (v *View) Filter(rows []int) *View {
	out := *v
	out.rows = make([]int, len(rows))
	for i, r := range rows {
		if r < 0 || r >= v.Len() {
			panic(fmt.Sprintf("shards: row %d of a view of %d", r, v.Len()))
		}
		out.rows[i] = v.row(r)
	}
	return &out
}

// Len returns the number of rows.
func (v *View) Len() int {
	if v.rows != nil {
		return len(v.rows)
	}
	return v.length
}

// row returns the row of the split that is row i of the view.
func (v *View) row(i int) int {
	if v.rows != nil {
		return v.rows[i]
	}
	return i
}

// at returns the shard of row i and the row's index in it. It panics if i is out of
// range.
func (v *View) at(i int) (*shard, int) {
	r := v.row(i)
	if r < 0 || r >= v.length {
		panic(fmt.Sprintf("shards: row %d of a view of %d", i, v.Len()))
	}
	k := sort.SearchInts(v.starts, r+1) - 1
	for v.shards[k].index.rows() == 0 { // an empty shard begins where the next one does
		k--
	}
	return v.shards[k], r - v.starts[k]
}

// Levels returns the names of the levels, finest first.
func (v *View) Levels() []string {
	var names []string
	for _, l := range v.set.manifest.Levels {
		names = append(names, l.Name)
	}
	return names
}

// Classes returns the names of a level's classes by number. The slice must not be
// changed.
func (v *View) Classes(level int) []string { return v.classes[level] }

// Labels returns the classes of row i, finest first, −1 for none. The slice must not be
// changed.
func (v *View) Labels(i int) labels.Path {
	sh, r := v.at(i)
	return sh.index.path(r)
}

// ID returns the image id of row i, 16 hexadecimal digits.
func (v *View) ID(i int) string {
	sh, r := v.at(i)
	return sh.index.ids[r].String()
}

// Fingerprint returns the names and hashes of all shards of the set, one a line. It changes if a
// pixel does.
func (v *View) Fingerprint() string {
	var s strings.Builder
	for _, f := range v.set.manifest.Files {
		fmt.Fprintln(&s, f.Name, f.SHA256)
	}
	return s.String()
}

// StoredSide returns the length to which the short sides of larger images were reduced, 0 for none.
func (v *View) StoredSide() int { return v.set.manifest.Settings.ShortSide }

// MostBytes returns the size of the largest image file of the split.
func (v *View) MostBytes() int {
	most := uint32(0)
	for _, sh := range v.shards {
		for _, n := range sh.index.lengths {
			most = max(most, n)
		}
	}
	return int(most)
}

// ImageBytes returns the size of all image files of the view.
func (v *View) ImageBytes() (sum int64) {
	for i := range v.Len() {
		sh, row := v.at(i)
		sum += int64(sh.index.lengths[row])
	}
	return sum
}

// Image returns the image file of row i. It compares the checksum and returns a
// *DamageError for a damaged image.
func (v *View) Image(ctx context.Context, i int) ([]byte, error) {
	return v.AppendImage(ctx, nil, i)
}

// AppendImage appends the image file of row i to dst. It allocates nothing if dst is
// large enough.
func (v *View) AppendImage(ctx context.Context, dst []byte, i int) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return dst, err
	}
	sh, r := v.at(i)
	n := int(sh.index.lengths[r])
	dst = slices.Grow(dst, n)
	image := dst[len(dst) : len(dst)+n]
	if err := sh.read(ctx, image, r, r+1); err != nil {
		return dst, fmt.Errorf("shards: %w", err)
	}
	return dst[:len(dst)+n], nil
}

// read fills buf with the images of rows from ≤ r < to and the bytes between them, and
// compares their checksums.
func (sh *shard) read(ctx context.Context, buf []byte, from, to int) error {
	f, err := sh.open()
	if err != nil {
		return err
	}
	err = sh.readOnce(ctx, f, buf, from, to)
	if _, cached := f.(remoteFile); cached && errors.As(err, new(*DamageError)) {
		f.forget(sh.index.offsets[from], int64(len(buf))) // the cache may be wrong, and the shard right
		err = sh.readOnce(ctx, f, buf, from, to)
	}
	return err
}

func (sh *shard) readOnce(ctx context.Context, f file, buf []byte, from, to int) error {
	x := sh.index
	start := x.offsets[from]
	if n, err := f.ReadAtContext(ctx, buf, start); n < len(buf) {
		if errors.Is(err, io.EOF) {
			return &DamageError{sh.file.Name, from, fmt.Sprintf("the file ends %d bytes into the image", n)}
		}
		return err
	}
	for r := from; r < to; r++ {
		at := int(x.offsets[r] - start)
		if got := crc32.Checksum(buf[at:at+int(x.lengths[r])], castagnoli()); got != x.crcs[r] {
			return &DamageError{sh.file.Name, r, fmt.Sprintf("image %s: checksum %08x, want %08x",
				x.ids[r], got, x.crcs[r])}
		}
	}
	return nil
}
