package dataset

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// OrderError reports levels that appear to be named coarsest first.
type OrderError struct {
	Levels []string // as they were given
	Why    string   // "category is coarser than product"
}

// Error states the evidence.
func (e *OrderError) Error() string {
	return fmt.Sprintf("%s: the levels %s seem to be coarsest first", e.Why, strings.Join(e.Levels, ","))
}

// Right lists the levels finest first.
func (e *OrderError) Right() []string {
	right := slices.Clone(e.Levels)
	slices.Reverse(right)
	return right
}

// chains are level names whose order is well known, finest first.
var chains = [][]string{
	{"fine", "middle", "coarse", "top"}, {"finest", "coarsest"},
	{"species", "genus", "family", "order", "phylum", "kingdom"},
	{"landmark", "supercategory", "kind"}, {"product", "category"}, {"item", "category"},
	{"class", "superclass"}, {"subclass", "class"}, {"subcategory", "category"}, {"category", "supercategory"},
	{"sub_category", "category"},
	{"character", "alphabet"}, {"breed", "species"}, {"model", "make"}, {"model", "brand"}, {"city", "country"},
}

// checkOrder returns an *OrderError if all levels are in the order coarsest first, as
// far as their names tell.
func checkOrder(levels []string) error {
	var known []string // few, where a table has thousands of columns
	for _, level := range levels {
		if slices.ContainsFunc(chains, func(chain []string) bool { return slices.Contains(chain, strings.ToLower(level)) }) {
			known = append(known, level)
		}
	}
	why := ""
	for i, finer := range known {
		for _, coarser := range known[i+1:] {
			switch {
			case ordered(coarser, finer):
				why = fmt.Sprintf("%s is coarser than %s", finer, coarser)
			case ordered(finer, coarser):
				return nil
			}
		}
	}
	if why == "" {
		return nil
	}
	return &OrderError{Levels: levels, Why: why}
}

// ordered reports whether a level is known by its name to be finer than another.
func ordered(finer, coarser string) bool {
	finer, coarser = strings.ToLower(finer), strings.ToLower(coarser)
	return slices.ContainsFunc(chains, func(chain []string) bool {
		f, c := slices.Index(chain, finer), slices.Index(chain, coarser)
		return f >= 0 && c > f
	})
}

// surveyed is the number of rows of a table from which the order of its levels is
// judged: enough to meet a class twice, and quick to read.
const surveyed = 100_000

// checkOrder judges the order of the label columns by the rows. Rows that cannot be read are
// reported when they are imported.
func (src *csvSource) checkOrder(ctx context.Context) error {
	if src.labels != nil {
		return nil
	}
	f, r, _, err := src.open()
	if err != nil {
		return err
	}
	defer f.Close()
	rows := func(yield func(names []string, where string) bool) {
		for {
			record, err := r.Read()
			if err != nil {
				return
			}
			names := make([]string, len(src.columns.levels))
			for i, c := range src.columns.levels {
				names[i] = record[c]
			}
			if ctx.Err() != nil || !yield(names, fmt.Sprintf("%s:%d", src.base(), r.Line())) {
				return
			}
		}
	}
	return cmp.Or(orderByRows(src.levels, rows), ctx.Err())
}

// orderByRows returns an *OrderError if the class names in rows form a tree coarsest first but
// not finest first, or if the rows allow both orders and the names of the levels say coarsest
// first. Rows without a class at some level say nothing.
func orderByRows(levels []string, rows iter.Seq2[[]string, string]) error {
	if len(levels) < 2 {
		return nil
	}
	forward, backward := newNesting(levels), newNesting(levels)
	n := 0
	for names, where := range rows {
		if n++; n > surveyed {
			break
		}
		if len(names) == 0 || slices.Contains(names, "") {
			continue
		}
		forward.add(names, where)
		reversed := slices.Clone(names)
		slices.Reverse(reversed)
		backward.add(reversed, where)
	}
	switch {
	case forward.broken == "" && backward.broken == "": // the rows allow both orders, and the names may not
		return checkOrder(levels)
	case forward.broken == "" || backward.broken != "":
		return nil
	}
	return &OrderError{Levels: levels, Why: forward.broken}
}

// nesting reports whether rows of class names, finest first, form a tree.
type nesting struct {
	levels  []string
	parents []map[string]placed
	broken  string // the first class with two parents
}

// placed is the parent of a class, and the row that states it.
type placed struct{ parent, where string }

func newNesting(levels []string) *nesting {
	n := &nesting{levels: levels, parents: make([]map[string]placed, len(levels))}
	for l := range n.parents {
		n.parents[l] = map[string]placed{}
	}
	return n
}

func (n *nesting) add(names []string, where string) {
	for l := range len(names) - 1 {
		before, known := n.parents[l][names[l]]
		if known && before.parent != names[l+1] && n.broken == "" {
			n.broken = fmt.Sprintf("%s %.80q has two parents: %.80q (%s) and %.80q (%s)", n.levels[l], names[l], before.parent,
				before.where, names[l+1], where)
		}
		if !known {
			n.parents[l][strings.Clone(names[l])] = placed{strings.Clone(names[l+1]), where}
		}
	}
}
