package classes

import (
	"errors"
	"fmt"
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

// ByNames reports whether the names of the levels are the only evidence.
func (e *OrderError) ByNames() bool { return e.sorted == nil }

// Proposed returns columns in an order in which they may be named as levels: their own, unless their names say that
// it is coarsest first.
func Proposed(columns []string) []string {
	var order *OrderError
	if errors.As(CheckNames(columns), &order) {
		return order.Right()
	}
	return columns
}

// UndecidedError reports levels of which several orders form a tree, but not the given one.
type UndecidedError struct {
	Levels []string  // as they were given
	Why    string    // they form no tree
	Pair   [2]string // two of them, either of which may be the finer one
}

// Error names two levels of which either may be the finer one.
func (e *UndecidedError) Error() string {
	return fmt.Sprintf("in the order %s, %s; the rows do not determine which of %s and %s is finer, because each class "+
		"of one has a single class of the other", strings.Join(e.Levels, ","), e.Why, e.Pair[0], e.Pair[1])
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

// CheckNames returns an *OrderError if all levels are in the order coarsest first, as far as their names tell.
func CheckNames(levels []string) error {
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

// surveyed is the number of rows from which the order of levels is judged: enough to meet a class twice, and quick
// to read.
const surveyed = 100_000

// orderOf returns the order in which the class names in rows form a tree, finest first, as places in levels, and a
// note that says why. It returns nil if the given order is one, or if none is: the tree names the rows that
// contradict it. If several others are, the names of the levels decide, and they must allow the order.
//
// A finer level has more classes than a coarser one, or as many if the two are the same but for the names. Rows
// without a class at some level say nothing.
func orderOf(levels []string, rows Rows) (order []int, note string, err error) {
	given, backward := newNesting(levels), newNesting(levels)
	classes := make([]map[string]bool, len(levels))
	for l := range classes {
		classes[l] = map[string]bool{}
		order = append(order, l)
	}
	for names, where := range complete(rows) {
		given.add(names, where)
		count(classes, names)
		slices.Reverse(names)
		backward.add(names, where)
	}
	switch {
	case given.broken == "" && backward.broken == "": // the rows allow both orders, and the names may not
		return nil, "", CheckNames(levels)
	case given.broken == "":
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
	if tree.broken != "" {
		return nil, "", nil
	}
	for i, at := range order[1:] {
		before := order[i]
		if len(classes[at]) == len(classes[before]) && !ordered(levels[before], levels[at]) {
			return nil, "", &UndecidedError{levels, given.broken, [2]string{levels[before], levels[at]}}
		}
	}
	if CheckNames(sorted) != nil { // the names contradict the rows
		return nil, "", &OrderError{Levels: levels, Why: given.broken, sorted: sorted}
	}
	return order, fmt.Sprintf("the levels are read as %s, finest first: in the order %s, %s", strings.Join(sorted, ","),
		strings.Join(levels, ","), given.broken), nil
}

// complete are the first rows, without those that lack a class.
func complete(rows Rows) Rows {
	return func(yield func([]string, string) bool) {
		n := 0
		for names, where := range rows {
			if n++; n > surveyed {
				return
			}
			if !slices.Contains(names, "") && !yield(names, where) {
				return
			}
		}
	}
}

// alike names levels that have the same classes: two levels that are one count twice in a measure over all levels.
func alike(levels []string, of *Table, rows Rows) (notes []string) {
	const few = 8 // levels; a table with more has columns of other kinds
	n := min(few, len(levels))
	trees, classes, all := make([]*nesting, n*n), make([]map[string]bool, n), 0
	for i := range trees {
		trees[i] = newNesting([]string{levels[i/n], levels[i%n]})
	}
	for l := range classes {
		classes[l] = map[string]bool{}
	}
	for names, where := range complete(rows) {
		all++
		count(classes, names[:n])
		for i, tree := range trees {
			if tree.broken == "" {
				tree.add([]string{names[i/n], names[i%n]}, where)
			}
		}
	}
	for l := range n {
		for k := range l {
			if trees[l*n+k].broken == "" && trees[k*n+l].broken == "" && len(classes[l]) > 1 && len(classes[l]) < all {
				notes = append(notes, "warning: "+of.of(fmt.Sprintf("%s and %s divide the rows alike, so "+
					"they are one level that counts twice; the setting levels chooses one", levels[k], levels[l])))
			}
		}
	}
	return notes
}

// count adds the names of a row to those of each level.
func count(classes []map[string]bool, names []string) {
	for l, name := range names {
		if !classes[l][name] {
			classes[l][strings.Clone(name)] = true
		}
	}
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

// inOrder returns elements of a list, in an order of their places.
func inOrder[T any](list []T, order []int) []T {
	out := make([]T, len(order))
	for i, at := range order {
		out[i] = list[at]
	}
	return out
}
