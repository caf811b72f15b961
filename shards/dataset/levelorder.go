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

	sorted []string // finest first, as the rows say; nil: the reverse
}

// Error states the evidence.
func (e *OrderError) Error() string {
	return fmt.Sprintf("%s: the levels %s seem to be coarsest first", e.Why, strings.Join(e.Levels, ","))
}

// Right lists the levels finest first.
func (e *OrderError) Right() []string {
	if e.sorted != nil {
		return e.sorted
	}
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

// checkOrder puts the label columns in the order that the rows say, and notes it. Rows that cannot be read are
// reported when they are imported.
func (src *csvSource) checkOrder(ctx context.Context) error {
	if src.labels != nil {
		return nil
	}
	order, note, err := orderOf(src.levels, src.labelRows(ctx))
	if err := cmp.Or(err, ctx.Err()); err != nil || order == nil {
		return err
	}
	src.levels, src.columns.levels = inOrder(src.levels, order), inOrder(src.columns.levels, order)
	src.missing = src.missing.inOrder(order)
	src.notes = append(src.notes, note)
	return nil
}

// orderOf returns the order in which the class names in rows form a tree, finest first, as places in levels, and a
// note that says why. It returns nil if the given order is one. The names of the levels must allow the order.
func orderOf(levels []string, rows iter.Seq2[[]string, string]) (order []int, note string, err error) {
	if len(levels) < 2 {
		return nil, "", nil
	}
	order, why, err := sortLevels(levels, rows)
	if err != nil {
		return nil, "", err
	}
	if order == nil {
		return nil, "", orderByRows(levels, rows)
	}
	sorted := inOrder(levels, order)
	if checkOrder(sorted) != nil { // the names contradict the rows
		return nil, "", &OrderError{Levels: levels, Why: why, sorted: sorted}
	}
	return order, fmt.Sprintf("the levels are read as %s, finest first: in the order %s, %s", strings.Join(sorted, ","),
		strings.Join(levels, ","), why), nil
}

// checkMissing finds the cells of the label columns that mean no class.
func (src *csvSource) checkMissing(ctx context.Context, asked []string) (err error) {
	if src.labels != nil {
		return nil
	}
	var notes []string
	src.missing, notes, err = findMissing(src.levels, asked, src.labelRows(ctx))
	src.notes = append(src.notes, notes...)
	return cmp.Or(err, ctx.Err())
}

// labelRows are the class names of all rows. The names are valid until the next row.
func (src *csvSource) labelRows(ctx context.Context) iter.Seq2[[]string, string] {
	return func(yield func(names []string, where string) bool) {
		f, r, _, err := src.open()
		if err != nil {
			return
		}
		defer f.Close()
		names := make([]string, len(src.columns.levels))
		for {
			record, err := r.Read()
			if err != nil {
				return
			}
			for i, c := range src.columns.levels {
				names[i] = record[c]
			}
			src.missing.clear(names)
			if ctx.Err() != nil || !yield(names, fmt.Sprintf("%s:%d", src.base(), r.Line())) {
				return
			}
		}
	}
}

// inOrder returns the elements of a list in an order of their places.
func inOrder[T any](list []T, order []int) []T {
	out := make([]T, len(list))
	for i, at := range order {
		out[i] = list[at]
	}
	return out
}

// sortLevels finds the order in which the class names in rows form a tree, finest first, as places in levels. It
// returns nil if the given order is one, or if none is, and why the given order is none. If several others are,
// the names of the levels decide; it returns an error if they do not. Rows without a class at some level say nothing.
//
// A finer level has more classes than a coarser one, or as many if the two are the same but for the names.
func sortLevels(levels []string, rows iter.Seq2[[]string, string]) (order []int, why string, err error) {
	given := newNesting(levels)
	classes := make([]map[string]bool, len(levels))
	for l := range classes {
		classes[l] = map[string]bool{}
		order = append(order, l)
	}
	for names, where := range complete(rows) {
		given.add(names, where)
		for l, name := range names {
			if !classes[l][name] {
				classes[l][strings.Clone(name)] = true
			}
		}
	}
	if given.broken == "" {
		return nil, "", nil
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case len(classes[a]) != len(classes[b]):
			return len(classes[b]) - len(classes[a])
		case ordered(levels[a], levels[b]):
			return -1
		case ordered(levels[b], levels[a]):
			return 1
		}
		return 0
	})
	sorted := inOrder(levels, order)
	tree := newNesting(sorted)
	for names, where := range complete(rows) {
		tree.add(inOrder(names, order), where)
	}
	if tree.broken != "" { // the import names the rows
		return nil, "", nil
	}
	for i, at := range order[1:] {
		before := order[i]
		if len(classes[at]) == len(classes[before]) && !ordered(levels[before], levels[at]) {
			return nil, "", setting("levels")("in the order %s, %s; the rows do not say which of %s and %s is finer, because "+
				"each class of one has a single class of the other", strings.Join(levels, ","), given.broken,
				levels[before], levels[at])
		}
	}
	return order, given.broken, nil
}

// complete are the first rows, without those that lack a class.
func complete(rows iter.Seq2[[]string, string]) iter.Seq2[[]string, string] {
	return func(yield func([]string, string) bool) {
		n := 0
		for names, where := range rows {
			if n++; n > surveyed {
				return
			}
			if len(names) > 0 && !slices.Contains(names, "") && !yield(names, where) {
				return
			}
		}
	}
}

// orderByRows returns an *OrderError if the class names in rows form a tree coarsest first but
// not finest first, or if the rows allow both orders and the names of the levels say coarsest
// first. Rows without a class at some level say nothing.
func orderByRows(levels []string, rows iter.Seq2[[]string, string]) error {
	if len(levels) < 2 {
		return nil
	}
	forward, backward := newNesting(levels), newNesting(levels)
	for names, where := range complete(rows) {
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
