// Package registry holds explicit tables of named things: losses, metrics,
// importers, encoders. A table is a literal; there is no registration at run
// time, so what exists can be read in one place.
package registry

import (
	"fmt"
	"slices"
	"strings"
)

// Entry is one row of a table.
type Entry[T any] struct {
	Name   string // kebab-case, unique in its table
	About  string // one line for help texts and documents
	Source string // "authors, title, venue; place in it"; empty where there is no publication
	Value  T      // with the published defaults
}

// Table is an ordered list of entries with unique names.
type Table[T any] []Entry[T]

// Get returns the value called name. The error for an unknown name lists the known names, and
// suggests one that is close.
func (t Table[T]) Get(kind, name string) (T, error) {
	for _, e := range t {
		if e.Name == name {
			return e.Value, nil
		}
	}
	var none T
	return none, Unknown(kind, name, t.Names())
}

// About returns the summary of the entry called name, or "" if there is none.
func (t Table[T]) About(name string) string {
	for _, e := range t {
		if e.Name == name {
			return e.About
		}
	}
	return ""
}

// Names returns the names in table order.
func (t Table[T]) Names() []string {
	names := make([]string, len(t))
	for i, e := range t {
		names[i] = e.Name
	}
	return names
}

// UnknownError reports a name that is not in a table, and the name that was probably meant.
type UnknownError struct {
	Kind, Name, Nearest string   // Nearest is "" if no known name is similar
	Known               []string // all names, in table order
}

// Error suggests the nearest name and lists the known ones.
func (e *UnknownError) Error() string {
	s := fmt.Sprintf("unknown %s %.80q", e.Kind, e.Name)
	if e.Nearest != "" {
		s += fmt.Sprintf(": did you mean %.80q?", e.Nearest)
	}
	if len(e.Known) > 0 {
		known := fmt.Sprintf("%.800q", strings.Join(e.Known, ", ")) // columns of a file are among what can be known
		s += " (known: " + known[1:len(known)-1] + ")"
	}
	return s
}

// Unknown builds the error for a name that is not among known.
func Unknown(kind, name string, known []string) error {
	return &UnknownError{Kind: kind, Name: name, Nearest: Nearest(name, known), Known: known}
}

// Nearest returns the candidate with the least edit distance to name, or "" if
// none is close enough to be a misspelling (a third of its letters, at least one
// and two for names of four letters or more).
func Nearest(name string, candidates []string) string {
	best, at := -1, ""
	for _, c := range candidates {
		d := distance(strings.ToLower(name), strings.ToLower(c))
		limit := max(1, (len(c)+1)/3)
		if len(c) >= 4 {
			limit = max(limit, 2)
		}
		if strings.HasPrefix(c, name) && len(name) >= 3 || strings.HasPrefix(name, c) && len(c) >= 4 {
			d = min(d, 1)
		}
		if d <= limit && (best < 0 || d < best) {
			best, at = d, c
		}
	}
	return at
}

// distance is the Damerau–Levenshtein distance with adjacent transpositions.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			d := slices.Min([]int{rows[i-1][j] + 1, rows[i][j-1] + 1, rows[i-1][j-1] + cost})
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(x)][len(y)]
}
