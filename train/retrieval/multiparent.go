package retrieval

import (
	"slices"

	"hgld/labels"
)

// MultiParent is the Truth of labels whose classes may have several parents (docs/label-semantics.md). An item shares
// with the query the levels that the best of their paths share. An item without any class is a negative.
// The parents are part of the TaskHashes of an evaluation.
type MultiParent struct {
	*labels.Parents
	classes        [][][]int32 // of each finest class, by place here: its classes at each level, over all paths
	query, gallery []int32     // the place of each row's finest class; −1: the row has no class
}

// NewMultiParent binds extra parents to the rows of both sides; see [labels.NewParents].
func NewMultiParent(levels []string, classes func(level int) []string, query, gallery []labels.Path,
	list []labels.ExtraParent) (*MultiParent, error) {
	parents, err := labels.NewParents(levels, classes, list, query, gallery)
	if err != nil {
		return nil, err
	}
	t := &MultiParent{Parents: parents}
	place := map[int32]int32{-1: -1}
	t.query, t.gallery = t.places(query, place), t.places(gallery, place)
	return t, nil
}

// places returns the place of each row's finest class, and adds those that are new.
func (t *MultiParent) places(rows []labels.Path, place map[int32]int32) []int32 {
	list := make([]int32, len(rows))
	for i, p := range rows {
		at, known := place[max(p[0], -1)]
		if !known {
			at = int32(len(t.classes))
			place[p[0]] = at
			t.classes = append(t.classes, t.Above(p[0]))
		}
		list[i] = at
	}
	return list
}

// Shared implements Truth.
func (t *MultiParent) Shared(dst []byte, query int) {
	clear(dst)
	own := t.query[query]
	if own < 0 {
		return
	}
	shared := make([]byte, len(t.classes)) // with each finest class
	for i, other := range t.classes {
		shared[i] = meetings(t.classes[own], other)
	}
	for row, class := range t.gallery {
		if class >= 0 {
			dst[row] = shared[class]
		}
	}
}

// meetings returns the number of levels at which two items have a class in common. Such items have the parents of
// the class in common, so the levels are counted from the coarsest to the first without a common class.
func meetings(a, b [][]int32) (n byte) {
	for l := len(a) - 1; l >= 0 && meet(a[l], b[l]); l-- {
		n++
	}
	return n
}

// meet reports whether two short lists have a number in common.
func meet(a, b []int32) bool {
	for _, x := range a {
		if slices.Contains(b, x) {
			return true
		}
	}
	return false
}
