package retrieval

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"hgld/labels"
)

// Further is the Truth of labels whose classes may have several parents (docs/labels.md). An item shares
// with the query the levels that the best of their paths share. An item without any class is a negative.
type Further struct {
	levels         int
	query, gallery [][][]int32 // classes of each row at each level

	// Used counts the further parents whose class an item has.
	Used int

	// Unseen are the further parents that no item has in the tree, by name.
	Unseen []string
}

// NewFurther binds further parents to the rows of both sides. levels are the names of the levels, finest
// first, and classes returns the class names of a level, by number. A class that no row has gets its
// parents from the list alone. The error names the row of the list that cannot be used, or says that rows
// lack levels, which would leave it unknown what they are to one another.
func NewFurther(levels []string, classes func(level int) []string, query, gallery []labels.Path,
	list []labels.FurtherParent) (*Further, error) {
	if mixedDepth(query) || mixedDepth(gallery) {
		return nil, errors.New("further parents need a class at every level, and some rows lack one")
	}
	b := &furtherBinder{names: levels, index: make([]map[string]int32, len(levels)),
		parents: make([]map[int32][]int32, len(levels)), seen: make([]map[int32]bool, len(levels))}
	for l := range levels {
		b.index[l], b.parents[l], b.seen[l] = map[string]int32{}, map[int32][]int32{}, map[int32]bool{}
		for i, name := range classes(l) {
			b.index[l][name] = int32(i)
		}
	}
	for _, rows := range [][]labels.Path{query, gallery} {
		b.learn(rows)
	}
	t := &Further{levels: len(levels)}
	if err := b.bind(t, list); err != nil {
		return nil, err
	}
	t.query, t.gallery = b.all(query), b.all(gallery)
	return t, nil
}

// furtherBinder collects the parents of every class.
type furtherBinder struct {
	names   []string
	index   []map[string]int32  // number of each class, by level
	parents []map[int32][]int32 // of each class, by level
	seen    []map[int32]bool    // the classes of the rows
}

// learn notes the parents that the rows state.
func (b *furtherBinder) learn(rows []labels.Path) {
	for _, p := range rows {
		if p.Depth() == 0 {
			continue
		}
		for l, c := range p {
			b.seen[l][c] = true
			if l+1 < len(p) {
				b.add(l, c, p[l+1])
			}
		}
	}
}

func (b *furtherBinder) add(level int, class, parent int32) {
	if !slices.Contains(b.parents[level][class], parent) {
		b.parents[level][class] = append(b.parents[level][class], parent)
	}
}

// bind adds the further parents.
func (b *furtherBinder) bind(t *Further, list []labels.FurtherParent) error {
	for _, f := range list {
		level := slices.Index(b.names, f.Level)
		if level < 0 || level+1 == len(b.names) {
			return fmt.Errorf("%s: the level is %.80q; want one below the coarsest: %.200q", f.Where, f.Level,
				b.names[:len(b.names)-1])
		}
		class, parent := b.number(level, f.Class), b.number(level+1, f.Parent)
		b.add(level, class, parent)
		if !b.seen[level][class] {
			continue
		}
		t.Used++
		if !b.seen[level+1][parent] && !slices.Contains(t.Unseen, f.Parent) {
			t.Unseen = append(t.Unseen, f.Parent)
		}
	}
	for _, f := range list {
		level := slices.Index(b.names, f.Level) + 1
		if level+1 < len(b.names) && b.seen[level-1][b.number(level-1, f.Class)] &&
			len(b.parents[level][b.number(level, f.Parent)]) == 0 {
			return fmt.Errorf("%s: no item is of the %s %.80q, so its %s is not known; add a row %s,%s,… with it", f.Where,
				b.names[level], f.Parent, b.names[level+1], b.names[level], f.Parent)
		}
	}
	return nil
}

// number returns the number of a class, and a new one for a new name.
func (b *furtherBinder) number(level int, name string) int32 {
	c, known := b.index[level][name]
	if !known {
		c = int32(len(b.index[level]))
		b.index[level][name] = c
	}
	return c
}

// all returns the classes of each row at each level, over all its paths.
func (b *furtherBinder) all(rows []labels.Path) [][][]int32 {
	list := make([][][]int32, len(rows))
	for i, p := range rows {
		list[i] = make([][]int32, len(p))
		if p.Depth() == 0 {
			continue
		}
		list[i][0] = p[:1:1]
		for l := 1; l < len(p); l++ {
			for _, c := range list[i][l-1] {
				for _, parent := range b.parents[l-1][c] {
					if !slices.Contains(list[i][l], parent) {
						list[i][l] = append(list[i][l], parent)
					}
				}
			}
		}
	}
	return list
}

// Shared implements Truth. Items that have a class of a level in common have its parents in common, so
// the levels are counted from the coarsest to the first without a common class.
func (t *Further) Shared(dst []byte, query int) {
	own := t.query[query]
	for row, other := range t.gallery {
		n := 0
		for l := t.levels - 1; l >= 0 && meet(own[l], other[l]); l-- {
			n++
		}
		dst[row] = byte(n)
	}
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

// Hash writes what the rows share, so that results by other further parents differ.
func (t *Further) Hash(w io.Writer) { fmt.Fprintln(w, t.query, t.gallery) }
