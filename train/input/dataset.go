// Package input is what a training reads: data sets of labelled images or vectors, and the batches
// that a [Loader] makes of them, decoded, cropped and distorted, on the host or for a device that
// resamples. It knows no network.
package input

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
	"strings"

	"hgld/labels"
	"hgld/train/sample"
)

// Dataset is a set of labelled images. Its methods must be safe for concurrent use.
type Dataset interface {
	// Len returns the number of items.
	Len() int
	// Levels names the levels, finest first.
	Levels() []string
	// Classes names the classes of a level.
	Classes(level int) []string
	// Labels returns the classes of item i, finest first, −1 for none. If two items come from
	// data sets that are evaluated together, they share a class exactly if the numbers are equal.
	Labels(i int) labels.Path
	// Image returns the encoded image of item i.
	Image(ctx context.Context, i int) ([]byte, error)
	// ID names item i in messages and per-query results.
	ID(i int) string
}

// AppendImage appends the encoded image of item i to dst. A data set with the method
//
//	AppendImage(ctx context.Context, dst []byte, i int) ([]byte, error)
//
// needs no other memory if dst is large enough.
func AppendImage(ctx context.Context, d Dataset, dst []byte, i int) ([]byte, error) {
	d, i = source(d, i)
	if a, is := d.(interface {
		AppendImage(ctx context.Context, dst []byte, i int) ([]byte, error)
	}); is {
		return a.AppendImage(ctx, dst, i)
	}
	data, err := d.Image(ctx, i)
	return append(dst, data...), err
}

// source returns the data set that item i of subsets and joined sets comes from, and the item's number there.
func source(d Dataset, i int) (Dataset, int) {
	for {
		switch of := d.(type) {
		case *Subset:
			d, i = of.Of, of.Rows[i]
		case *joined:
			d, i = of.at(i)
		default:
			return d, i
		}
	}
}

// sources lists the data sets that subsets and joined sets consist of.
func sources(d Dataset) (list []Dataset) {
	switch d := d.(type) {
	case *Subset:
		return sources(d.Of)
	case *joined:
		for _, part := range d.parts {
			list = append(list, sources(part)...)
		}
		return list
	}
	return []Dataset{d}
}

// Subset is a part of a data set, in the order of Rows. Classes keep their numbers, so that parts
// of one data set can be evaluated against each other.
type Subset struct {
	Of   Dataset // the data set that items are chosen from
	Rows []int   // the chosen items of Of, in order

	tree *relabelling // instead of the levels and classes of Of; nil for those
}

// Len returns the number of rows.
func (s *Subset) Len() int { return len(s.Rows) }

// Levels returns the levels of the whole data set, or of the tree of Relabel.
func (s *Subset) Levels() []string {
	if s.tree != nil {
		return s.tree.levels
	}
	return s.Of.Levels()
}

// Classes returns the classes of the whole data set, or of the tree of Relabel.
func (s *Subset) Classes(level int) []string {
	if s.tree != nil {
		return s.tree.classes[level]
	}
	return s.Of.Classes(level)
}

// Labels returns the classes of the row.
func (s *Subset) Labels(i int) labels.Path {
	of := s.Of.Labels(s.Rows[i])
	if s.tree != nil {
		return s.tree.of[of[0]]
	}
	return of
}

// Image returns the image of the row.
func (s *Subset) Image(ctx context.Context, i int) ([]byte, error) {
	return s.Of.Image(ctx, s.Rows[i])
}

// ID returns the name of the row.
func (s *Subset) ID(i int) string { return s.Of.ID(s.Rows[i]) }

// Join concatenates data sets that have the same levels and classes.
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
	ends  []int // end of each part
}

// at returns the part that holds item i, and the item's number in it.
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
	d, at := source(j, i)
	return d.Image(ctx, at)
}

func (j *joined) ID(i int) string {
	d, at := source(j, i)
	return d.ID(at)
}

// Path returns the path of item i's image in the source of the data set, or "" if the data set
// does not know it.
func Path(ctx context.Context, d Dataset, i int) (string, error) {
	d, i = source(d, i)
	if p, knows := d.(interface {
		Path(ctx context.Context, i int) (string, error)
	}); knows {
		return p.Path(ctx, i)
	}
	return "", nil
}

// SplitOf returns the split of item i in the source of the data set, or "" if the data set does not know it.
func SplitOf(d Dataset, i int) string {
	d, i = source(d, i)
	if s, knows := d.(interface {
		SplitOf(i int) labels.Split
	}); knows {
		return string(s.SplitOf(i))
	}
	return ""
}

// HoldOut splits a data set by class. A share of the finest classes, chosen by seed, goes to held
// and all others to rest, so that held measures retrieval of classes never seen in training. This
// is the open-set protocol of Stanford Online Products and iNaturalist. Each class of the next
// level gives the same share of its finest classes, rounded up or down so that the rounding evens
// out. Items without a finest class go to rest if they have a coarser one, and otherwise to neither.
func HoldOut(d Dataset, share float64, seed uint64) (rest, held *Subset, err error) {
	if share <= 0 || share >= 1 {
		return nil, nil, fmt.Errorf("train: hold-out: share is %v, want a number between 0 and 1, both excluded", share)
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
	// Every class adds share to a counter. A class is held out where the counter passes a whole
	// number.
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
		p := d.Labels(i)
		switch class := p[0]; {
		case p.Depth() == 0:
		case isHeld[class]:
			held.Rows = append(held.Rows, i)
		default:
			rest.Rows = append(rest.Rows, i)
		}
	}
	if len(rest.Rows) == 0 || len(held.Rows) == 0 {
		return nil, nil, fmt.Errorf("train: hold-out: a share of %v of %d classes leaves one side without images; "+
			"choose another share, or hold_out: 0 to train on all classes and query: train to evaluate on them", share,
			len(known))
	}
	return rest, held, nil
}

// Random streams, one for each purpose. Stream 3 fits a projection.
const (
	holdOutStream = 1
	augmentStream = 2
)

// Paths returns the labels of all items. It fails if an item does not have all levels.
func Paths(d Dataset) ([]labels.Path, error) {
	levels := len(d.Levels())
	if levels == 0 || d.Len() == 0 {
		return nil, fmt.Errorf("train: the data set has %d items and %d levels, want at least one of each", d.Len(), levels)
	}
	list := make([]labels.Path, d.Len())
	for i := range list {
		list[i] = d.Labels(i)
		if len(list[i]) != levels {
			return nil, fmt.Errorf("train: item %s has %d labels, want %d", d.ID(i), len(list[i]), levels)
		}
	}
	return list, nil
}

// CheckTree verifies that every class has one parent. Only then is the number of equal labels the
// number of shared levels. An item that lacks a level says nothing of the parents there.
func CheckTree(d Dataset, list []labels.Path) error {
	type key struct {
		level, above int
		class        int32
	}
	parent := map[key]int{} // first item that has the class and one above it
	for i, p := range list {
		for l, c := range p {
			for above := l + 1; above < len(p) && c >= 0; above++ {
				if p[above] < 0 {
					continue
				}
				of := key{l, above, c}
				first, seen := parent[of]
				if !seen {
					parent[of] = i
				} else if list[first][above] != p[above] {
					return fmt.Errorf("train: %s %.80q has two parents: %s and %s are of different %s; the levels must be a tree",
						d.Levels()[l], className(d, l, c), d.ID(first), d.ID(i), d.Levels()[above])
				}
				if l+1 == above {
					break // what is above that, its parent says
				}
			}
		}
	}
	return nil
}

// CheckDepth returns an error for an item without a class at any level, which nothing can be learnt
// from, and for a level at which no item has a class.
func CheckDepth(d Dataset, list []labels.Path) error {
	has := make([]bool, len(d.Levels()))
	for i, p := range list {
		if p.Depth() == 0 {
			return fmt.Errorf("train: %s has no class at any level (%s), want one at least: leave the item out of the data",
				d.ID(i), strings.Join(d.Levels(), ", "))
		}
		for l, c := range p {
			has[l] = has[l] || c >= 0
		}
	}
	for l, name := range d.Levels() {
		if !has[l] {
			return fmt.Errorf("train: no item has a class of level %s, want one at least: leave the level out", name)
		}
	}
	return nil
}

// Renumber numbers the classes of each level from 0, in the order of their numbers and without
// gaps. It also returns the number of classes of each level.
func Renumber(list []labels.Path) (dense []labels.Path, counts []int) {
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

// Fingerprint identifies the items of data sets, their labels and, if the data sets know them,
// their pixels. It is a SHA-256 in hexadecimal. Nil data sets are ignored.
func Fingerprint(sets ...Dataset) (string, error) {
	h := sha256.New()
	for i, d := range sets {
		if d == nil {
			continue
		}
		list, err := Paths(d)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, i, FingerprintOf(d, list), Pixels(d))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Pixels returns a fingerprint of the images that the items come from, or "" if the data set has
// none. A subset has the fingerprint of the whole.
func Pixels(d Dataset) (all string) {
	for _, part := range sources(d) {
		if f, knows := part.(interface{ Fingerprint() string }); knows {
			sum := sha256.Sum256([]byte(f.Fingerprint()))
			all += hex.EncodeToString(sum[:])
		}
	}
	return all
}

// FingerprintOf identifies the items and their labels. A data set can give a stronger fingerprint,
// such as the hash of a manifest that covers the pixels, by a method Fingerprint() string.
func FingerprintOf(d Dataset, list []labels.Path) string {
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

// Copies finds, for each query, the first gallery image that is the same file byte for byte, or
// −1. Some benchmarks repeat their queries in the gallery under another name. Copies also returns
// the number of queries with a copy.
func Copies(ctx context.Context, query, gallery Dataset) (rows []int32, copies int, err error) {
	first := map[[sha256.Size]byte]int32{}
	for i := range gallery.Len() {
		data, err := gallery.Image(ctx, i)
		if err != nil {
			return nil, 0, err
		}
		sum := sha256.Sum256(data)
		if _, seen := first[sum]; !seen {
			first[sum] = int32(i)
		}
	}
	rows = make([]int32, query.Len())
	for i := range rows {
		data, err := query.Image(ctx, i)
		if err != nil {
			return nil, 0, err
		}
		row, found := first[sha256.Sum256(data)]
		if rows[i] = -1; found {
			rows[i] = row
			copies++
		}
	}
	return rows, copies, nil
}

// First returns the first n items of a data set.
func First(d Dataset, n int) Dataset {
	s := &Subset{Of: d}
	for i := range min(n, d.Len()) {
		s.Rows = append(s.Rows, i)
	}
	return s
}
