package dataset

import (
	"fmt"
	"iter"
	"slices"

	"hgld/internal/spelling"
)

// missingClasses knows the cells of each level that mean no class; nil: the empty ones only.
type missingClasses []*spelling.Missing

// findMissing looks through the class names of all rows. asked are the cells that mean no class besides the
// empty one and −1; none: the usual words, unless they may be classes, of which a *[spelling.MissingError] asks.
// The notes count the cells other than empty ones.
func findMissing(levels, asked []string, rows iter.Seq2[[]string, string]) (found missingClasses, notes []string,
	err error) {
	for range levels {
		found = append(found, spelling.NewMissing(asked))
	}
	n := 0
	none := make([]string, len(levels))
	for names := range rows {
		n++
		if names == nil {
			names = none
		}
		for l, name := range names {
			found[l].Add(name)
		}
	}
	for l, m := range found {
		if err := m.Doubt(levels[l]); err != nil {
			return nil, nil, err
		}
		if !m.OnlyEmpty() {
			notes = append(notes, fmt.Sprintf("%s: %d of %d rows have no class (%s)", levels[l], m.Count(), n, m.Words()))
		}
	}
	return found, notes, nil
}

// clear empties the names of a row that mean no class.
func (m missingClasses) clear(names []string) {
	for l := range names {
		if m != nil && m[l].Is(names[l]) {
			names[l] = ""
		}
	}
}

// inOrder follows a change of the order of the levels.
func (m missingClasses) inOrder(order []int) missingClasses {
	if m == nil {
		return nil
	}
	return inOrder(m, order)
}

// unnamed returns the names of a row, none if all are empty.
func unnamed(names []string) []string {
	if slices.ContainsFunc(names, func(name string) bool { return name != "" }) {
		return names
	}
	return nil
}
