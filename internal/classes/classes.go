// Package classes reads the columns of classes in tables that people and programs write: which columns they are,
// which cells mean no class, how numbers are spelled, and which level is finer than another. Tables of images and
// labels of vectors are read by it alike.
package classes

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	"hgld/internal/spelling"
	"hgld/internal/usage"
)

// What becomes of rows that lack some levels; see [KeepsPartial].
const (
	RefusePartial = "refuse" // they are an error
	KeepPartial   = "keep"   // a missing level is unknown
)

// KeepsPartial reports whether a value of partial_labels keeps rows that lack some levels. "" refuses them.
func KeepsPartial(value string) (bool, error) {
	if !slices.Contains([]string{"", RefusePartial, KeepPartial}, value) {
		return false, fmt.Errorf("partial_labels is %.80q, want %s or %s", value, RefusePartial, KeepPartial)
	}
	return value == KeepPartial, nil
}

// Options say how classes are read.
type Options struct {
	Missing     []string // cells that mean no class; see [spelling.NewMissing]
	Guessed     bool     // nobody named the levels: columns that a measure cannot use are left out
	Independent bool     // the levels need not form a tree, and keep their order
	Exact       bool     // every other cell is a name as it stands: hgld has written the table
}

// Rows yields the cells of every row, one for each level, and the place of the row, such as t.csv:7. The cells are
// valid until the next row; nil: the row has no class.
type Rows = iter.Seq2[[]string, string]

// Table has the classes of some levels, row by row.
type Table struct {
	Name string // for messages; "": the caller names it
	Rows Rows   // all of them, each time
}

// Columns are the columns of classes of some tables.
type Columns struct {
	Levels  []string // their names, finest first
	Notes   []string // what was decided about cells and order
	NoLevel error    // a *[NoLevelError] if all guessed columns would be left out; then none is

	order  []int      // places of Levels among the given ones; nil: they are the given ones
	tables [][]column // by table, in the given order of the levels
}

// column is a level of a table.
type column struct {
	missing *spelling.Missing
	names   map[string]int // rows with each name, until all rows are read
	whole   bool           // 2.0 is the class 2
}

// Look reads all rows of the tables. Its errors are a *[spelling.MissingError], an *[OrderError] and
// an *[UndecidedError].
func Look(levels []string, o Options, tables ...Table) (*Columns, error) {
	c := &Columns{Levels: levels}
	for _, t := range tables {
		if err := c.look(t, o); err != nil {
			return nil, err
		}
	}
	if o.Guessed {
		c.leaveOut(tables[0].Name)
	}
	for t := range c.tables {
		for l := range c.tables[t] {
			c.tables[t][l].names = nil
		}
	}
	if len(c.Levels) < 2 || o.Independent {
		return c, nil
	}
	for i := range tables {
		c.Notes = append(c.Notes, alike(c.Levels, &tables[i], c.clean(tables, i, i+1))...)
	}
	order, note, err := orderOf(c.Levels, c.clean(tables, 0, len(tables)))
	if err != nil && tables[0].Name != "" {
		err = fmt.Errorf("%s: %w", tables[0].Name, err)
	}
	if err != nil {
		return nil, err
	}
	if order != nil {
		c.choose(order)
		c.Notes = append(c.Notes, note)
	}
	return c, nil
}

// choose takes some of the levels, in an order of their places.
func (c *Columns) choose(places []int) {
	c.Levels = inOrder(c.Levels, places)
	if c.order != nil {
		places = inOrder(c.order, places)
	}
	c.order = places
}

// look reads the rows of a table.
func (c *Columns) look(t Table, o Options) error {
	of := make([]column, len(c.Levels))
	for l := range of {
		of[l] = column{missing: spelling.NewMissing(o.Missing), names: map[string]int{}}
	}
	rows, none, hot := 0, make([]string, len(c.Levels)), len(of) > 1
	for names, where := range t.Rows {
		rows++
		if names == nil {
			names = none
		}
		hot = hot && isOneHot(names)
		for l, name := range names {
			of[l].missing.Add(name)
			if of[l].missing.Is(name) {
				continue
			}
			if of[l].names[name] == 0 {
				if name = strings.Clone(name); !o.Exact && isList(name) {
					return usage.Errorf("%s: %s is %.80q, which is a list; want one class in a cell: write the class alone, or a "+
						"column for each level", where, c.Levels[l], name)
				}
			}
			of[l].names[name]++
		}
	}
	if hot && rows > 1 {
		c.log(t, "warning: each row has one 1 among zeros at %s to %s, as classes of one level have", c.Levels[0],
			c.Levels[len(c.Levels)-1])
	}
	for l, level := range c.Levels {
		if err := of[l].missing.Doubt(t.of(level)); err != nil {
			return err
		}
		if m := of[l].missing; !m.OnlyEmpty() || m.Count() > 0 && !o.Exact {
			c.log(t, "%d of %d rows have no class at %s (%s)", m.Count(), rows, level, m.Words())
		}
		if !o.Exact {
			c.spell(t, level, &of[l])
		}
	}
	c.tables = append(c.tables, of)
	return nil
}

func (t *Table) of(what string) string {
	if t.Name == "" {
		return what
	}
	return t.Name + ": " + what
}

func (c *Columns) log(t Table, format string, args ...any) {
	c.Notes = append(c.Notes, t.of(fmt.Sprintf(format, args...)))
}

// wholeNumber is a whole number, perhaps as data frames write a column of integers with missing values.
var wholeNumber = regexp.MustCompile(`^-?[0-9]+(\.0+)?$`)

// spell decides how the names of a column are read.
func (c *Columns) spell(t Table, level string, of *column) {
	point, numbers := "", true
	for _, name := range slices.Sorted(maps.Keys(of.names)) {
		numbers = numbers && wholeNumber.MatchString(name)
		if strings.Contains(name, ".") {
			point = name
		}
		if parts := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("|;,/", r) }); len(parts) > 1 &&
			!slices.ContainsFunc(parts, func(part string) bool { return of.names[strings.TrimSpace(part)] == 0 }) {
			c.log(t, "warning: %s has the class %.80q beside %.80q and %.80q: a cell has one class, so it is a third one",
				level, name, strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1]))
			break
		}
	}
	if of.whole = numbers && point != ""; of.whole {
		c.log(t, "the classes of %s are whole numbers, written like %s, and are read without the point", level, point)
	}
}

// Read returns the names of a row of a table, finest first, "" for no class; nil for nil.
func (c *Columns) Read(table int, cells []string) []string {
	if cells == nil {
		return nil
	}
	names := make([]string, len(c.Levels))
	for l := range names {
		at := l
		if c.order != nil {
			at = c.order[l]
		}
		if of := &c.tables[table][at]; !of.missing.Is(cells[at]) {
			names[l] = of.name(cells[at])
		}
	}
	return names
}

// name returns the name that a cell with a class means.
func (of *column) name(cell string) string {
	if of.whole {
		cell, _, _ = strings.Cut(cell, ".")
	}
	return cell
}

// clean yields the names of all rows of some tables.
func (c *Columns) clean(tables []Table, lo, hi int) Rows {
	return func(yield func([]string, string) bool) {
		for i := lo; i < hi; i++ {
			for cells, where := range tables[i].Rows {
				names := c.Read(i, cells)
				for l, name := range names {
					names[l] = spelling.Form(name)
				}
				if names != nil && !yield(names, where) {
					return
				}
			}
		}
	}
}

// NoLevelError says that no column has classes that a measure can tell apart.
type NoLevelError struct {
	Path   string // of the labels
	Level  string // the first column
	Reason string // what it has instead
}

// Error names the file, the column and the reason.
func (e *NoLevelError) Error() string {
	return fmt.Sprintf("%s: %s has %s, so it is not used as a level unless the setting levels names it",
		e.Path, e.Level, e.Reason)
}

// leaveOut leaves out the columns with one class, and those with a class for each row of all tables. If no other is
// left, it leaves out none.
func (c *Columns) leaveOut(path string) {
	var keep []int
	var out []error
	for l, level := range c.Levels {
		if reason := c.noLevel(l); reason != "" {
			out = append(out, &NoLevelError{path, level, reason})
		} else {
			keep = append(keep, l)
		}
	}
	switch {
	case len(out) == 0:
	case len(keep) == 0:
		c.NoLevel = out[0]
	default:
		for _, err := range out {
			c.Notes = append(c.Notes, err.Error())
		}
		c.choose(keep)
	}
}

// noLevel says why a column is no level, "" if it is one.
func (c *Columns) noLevel(l int) string {
	different, rows, one := map[string]bool{}, 0, ""
	for t, of := range c.tables {
		for name, count := range of[l].names {
			one = spelling.Form(c.tables[t][l].name(name))
			different[one] = true
			rows += count
		}
	}
	switch len(different) {
	case 0:
		return "no class"
	case 1:
		return fmt.Sprintf("the one class %.80q", one)
	case rows:
		return "another class in each row"
	}
	return ""
}

// pythonList is a list of texts, or a dictionary, as Python writes it.
var pythonList = regexp.MustCompile(`^[\[(]\s*'[^']*'\s*(,\s*'[^']*'\s*)*,?\s*[\])]$|^\{\s*'[^']*'\s*:.*\}$`)

// isList reports whether a cell is an object or an array of texts in JSON or in Python.
func isList(cell string) bool {
	cell = strings.TrimSpace(cell)
	if cell == "" || !strings.Contains("[{(", cell[:1]) {
		return false
	}
	var object map[string]any
	var texts []string
	return pythonList.MatchString(cell) || json.Unmarshal([]byte(cell), &object) == nil ||
		json.Unmarshal([]byte(cell), &texts) == nil && len(texts) > 0
}

// IsTrue reports what a cell of a one-hot column means; known is false if it means neither.
func IsTrue(cell string) (is, known bool) {
	switch cell {
	case "1", "1.0", "True", "true", "TRUE":
		return true, true
	case "0", "0.0", "False", "false", "FALSE":
		return false, true
	}
	return false, false
}

// isOneHot reports whether a row has one 1 among zeros.
func isOneHot(cells []string) bool {
	ones := 0
	for _, cell := range cells {
		is, known := IsTrue(cell)
		if !known {
			return false
		}
		if is {
			ones++
		}
	}
	return ones == 1
}

// SameKinds returns an error if the classes of a level are numbers in one of the tables and texts in another.
func SameKinds(level string, tables []string, kinds []spelling.Kinds) error {
	for i := range kinds {
		for k := range kinds {
			if kinds[i].OnlyNumbers() && kinds[k].OnlyTexts() {
				return usage.Errorf("%s: %s", level, spelling.KindNote(tables[i], tables[k], &kinds[i], &kinds[k]))
			}
		}
	}
	return nil
}
