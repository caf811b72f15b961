package embeddings

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"unsafe"

	"hgld/internal/atomicfile"
	"hgld/internal/usage"
	"hgld/labels"
	"hgld/train/retrieval"
)

// The values of Input.EqualIDs.
const (
	SameImages  = "same"  // left out of one another's rankings
	OtherImages = "other" // ranked like all others
)

// SameIDError says that queries and gallery use one id for different images.
type SameIDError struct {
	Query, Gallery string // files
	ID             string // an id of both
	What           string // what differs
	Count, Of      int    // such ids, of all that both have
}

// Error names both files, the id, and how many ids are such.
func (e *SameIDError) Error() string {
	return fmt.Sprintf("%s and %s both have the id %.80q, but %s (%d of %d shared ids differ): rename the ids "+
		"in one file if they denote different images", e.Query, e.Gallery, e.ID, e.What, e.Count, e.Of)
}

// numbered reports whether the ids are only the numbers that a data frame gives its rows.
func (r *Rows) numbered() bool {
	return r.Unnamed && !slices.ContainsFunc(r.IDs, func(id string) bool {
		_, err := strconv.Atoi(id)
		return err != nil
	})
}

// identify finds the row of each query in the gallery, or −1: by id, or as the same row of two equal
// tables. It returns nil if the two have nothing in common.
func (in *Input) identify(query, gallery *side) (self []int32, err error) {
	if in.EqualIDs == OtherImages {
		return nil, nil
	}
	named := !query.rows.numbered() && !gallery.rows.numbered()
	if named {
		if self, err = Common(query.rows.IDs, gallery.rows.IDs); err != nil {
			return nil, fmt.Errorf("%s and %s: %w", in.Labels, in.GalleryLabels, err)
		}
		if in.EqualIDs != SameImages {
			if err := in.checkEqual(query, gallery, self); err != nil {
				return nil, err
			}
		}
	}
	if slices.ContainsFunc(self, func(row int32) bool { return row >= 0 }) {
		return self, nil
	}
	if !named && query.rows.IDs != nil && gallery.rows.IDs != nil {
		in.log("note: the first column of %s or %s has no name and numbers the rows: equal numbers are not taken for the "+
			"same image; call the column id if they are", query.labelFile, gallery.labelFile)
	}
	if in.EqualIDs == SameImages {
		return nil, nil
	}
	if query.vectors == nil || gallery.vectors == nil {
		return sameTable(query, gallery), nil
	}
	same, err := EqualRows(query.matrix(), gallery.matrix(), query.rows.Labels, gallery.rows.Labels)
	if err != nil || same == nil {
		return nil, err
	}
	found := len(same) - count(same, -1)
	ids := query.rows.IDs != nil && gallery.rows.IDs != nil && named
	if found < len(same) || ids {
		in.log("warning: %d of %d queries of %s have the vector and the classes of an item of %s, and are ranked with it; "+
			"if these are the same images, give both the same id", found, len(same), query.path, gallery.path)
		return nil, nil
	}
	in.log("the queries of %s are rows of %s with the same vectors and classes", query.path, gallery.path)
	return same, nil
}

// EqualRows finds the row of the gallery that has the vector and the classes of each query, or −1. It returns nil if
// there is none, and if vectors repeat, which then tell nothing about images, unless both sides have the same rows in
// the same order.
func EqualRows(queries, items retrieval.Vectors, query, gallery []labels.Path) ([]int32, error) {
	same, err := sameRows(queries, items, query, gallery)
	if err != nil || same != nil {
		return same, err
	}
	return equalVectors(queries, items, query, gallery)
}

// sameTable returns the numbers of the rows if both sides are one file of labels.
func sameTable(query, gallery *side) []int32 {
	n := len(query.rows.Labels)
	if n != len(gallery.rows.Labels) || !atomicfile.Same(query.labelFile, gallery.labelFile) {
		return nil
	}
	return retrieval.OwnRows(n)
}

func count(list []int32, value int32) (n int) {
	for _, v := range list {
		if v == value {
			n++
		}
	}
	return n
}

// nearlyEqual is the most that two vectors of one image may differ, as a share of their length: that of
// another precision, and not of another image.
const nearlyEqual = 0.05

// checkEqual compares classes and vectors of the rows with one id.
func (in *Input) checkEqual(query, gallery *side, self []int32) error {
	var wrong *SameIDError
	all, bad := 0, 0
	for q, row := range self {
		if row < 0 {
			continue
		}
		all++
		what, err := in.difference(query, gallery, q, int(row))
		if err != nil {
			return err
		}
		if what == "" {
			continue
		}
		if bad++; wrong == nil {
			wrong = &SameIDError{Query: query.labelFile, Gallery: gallery.labelFile, ID: query.rows.IDs[q], What: what}
		}
	}
	if wrong == nil {
		return nil
	}
	wrong.Count, wrong.Of = bad, all
	return wrong
}

// difference says in what a query and a row of the gallery differ, "" if in nothing.
func (in *Input) difference(query, gallery *side, q, row int) (string, error) {
	if in.Qrels == "" && !slices.Equal(query.rows.Labels[q], gallery.rows.Labels[row]) {
		return "with different classes", nil
	}
	if query.vectors == nil || gallery.vectors == nil {
		return "", nil
	}
	a, err := vector(query.matrix(), q)
	if err != nil {
		return "", err
	}
	b, err := vector(gallery.matrix(), row)
	if err != nil {
		return "", err
	}
	var apart, length float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		apart += (x - y) * (x - y)
		length += (x*x + y*y) / 2
	}
	if math.Sqrt(apart) > nearlyEqual*math.Sqrt(length) {
		return "with different vectors", nil
	}
	return "", nil
}

// vector reads one row.
func vector(v retrieval.Vectors, row int) ([]float32, error) {
	_, cols := v.Rows()
	x := make([]float32, cols)
	return x, v.ReadRows(x, row)
}

// sameRows returns the numbers of the rows if both sides have equal vectors and classes in the same order, or nil.
func sameRows(queries, items retrieval.Vectors, query, gallery []labels.Path) ([]int32, error) {
	if len(query) != len(gallery) {
		return nil, nil
	}
	for i := range query {
		a, err := vector(queries, i)
		if err != nil {
			return nil, err
		}
		b, err := vector(items, i)
		if err != nil || !slices.Equal(a, b) || !slices.Equal(query[i], gallery[i]) {
			return nil, err
		}
	}
	return retrieval.OwnRows(len(query)), nil
}

// equalVectors finds the only gallery row with the vector and the classes of each query, or −1. It returns
// nil if there is none, and if vectors repeat, which then say nothing about images.
func equalVectors(queries, items retrieval.Vectors, query, gallery []labels.Path) ([]int32, error) {
	n, cols := queries.Rows()
	at := make(map[uint64]int, n)
	seed := maphash.MakeSeed()
	sum := func(x []float32) uint64 { return maphash.Bytes(seed, bytesOf(x)) }
	err := eachVector(queries, func(q int, x []float32) bool {
		key := sum(x)
		_, twice := at[key]
		at[key] = q
		return !twice
	})
	if err != nil || len(at) < n {
		return nil, err
	}
	self := slices.Repeat([]int32{-1}, n)
	found, repeated := 0, false
	x := make([]float32, cols)
	var bad error
	err = eachVector(items, func(row int, y []float32) bool {
		q, known := at[sum(y)]
		if !known || !slices.Equal(query[q], gallery[row]) {
			return true
		}
		if bad = queries.ReadRows(x, q); bad != nil || !slices.Equal(x, y) {
			return bad == nil
		}
		repeated = repeated || self[q] >= 0
		self[q] = int32(row)
		found++
		return !repeated
	})
	if err = errors.Join(err, bad); err != nil || found == 0 || repeated {
		return nil, err
	}
	return self, nil
}

// eachVector calls visit for every row, until it returns false.
func eachVector(v retrieval.Vectors, visit func(row int, x []float32) bool) error {
	rows, cols := v.Rows()
	panel := max(1, 1<<20/max(cols, 1))
	values := make([]float32, min(panel, rows)*cols)
	for lo := 0; lo < rows; lo += panel {
		part := values[:min(panel, rows-lo)*cols]
		if err := v.ReadRows(part, lo); err != nil {
			return err
		}
		for i := 0; i < len(part); i += cols {
			if !visit(lo+i/cols, part[i:i+cols]) {
				return nil
			}
		}
	}
	return nil
}

// bytesOf returns the memory of numbers.
func bytesOf(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// NothingShared is the error that no query shares a class with the gallery. Both are files; examples are a class
// of each at the finest level.
func NothingShared(query, gallery, level string, examples [2]string) error {
	return usage.Errorf("no class of the queries (%s) is in the gallery (%s): the first %s is %.80q and %.80q; spell "+
		"equal classes alike", query, gallery, level, examples[0], examples[1])
}

// sharing returns an error if queries and gallery have no class in common at any level.
func (in *Input) sharing(e *Evaluation, query, gallery *side) error {
	if e.Same || in.Qrels != "" {
		return nil
	}
	if Shared(query.rows.Labels, gallery.rows.Labels) {
		return nil
	}
	var examples [2]string
	for i, s := range []*side{query, gallery} {
		list := s.rows.Labels
		if k := slices.IndexFunc(list, func(p labels.Path) bool { return p[0] >= 0 }); k >= 0 {
			examples[i] = e.Classes.Names(0)[list[k][0]]
		}
	}
	return NothingShared(query.labelFile, gallery.labelFile, e.Levels[0], examples)
}

// Shared reports whether two sides have a class in common at some level.
func Shared(query, gallery []labels.Path) bool {
	for l := range query[0] {
		of := map[int32]bool{}
		for _, p := range query {
			of[p[l]] = true
		}
		if slices.ContainsFunc(gallery, func(p labels.Path) bool { return p[l] >= 0 && of[p[l]] }) {
			return true
		}
	}
	return false
}
