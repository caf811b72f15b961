package embeddings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hgld/labels"
)

// Classes assigns numbers to the classes of several label files. Equal names get equal numbers
// in all of them. The zero value is ready to use.
type Classes struct {
	// Independent says that the levels do not form a tree: each column is numbered by itself, and
	// a class may have several parents.
	Independent bool

	// Ignore names a column that is not a level. Items that share its value are ignored for one
	// another. "" means no such column.
	Ignore string

	// OnlyIDs skips the levels: the rows need no classes.
	OnlyIDs bool

	// Columns are the levels, finest first; empty: the columns of the first file that may be levels.
	Columns []string

	// Missing are the cells that mean no class; see Input.Missing.
	Missing []string

	// Uneven keeps rows that lack some levels; otherwise they are an error.
	Uneven bool

	// Part is the split of the rows that are read of a table of OpenMetricLearning; "": all.
	Part string

	// Recorded is Input.Recorded.
	Recorded func(path string) bool

	// Say receives remarks; nil: no one does.
	Say func(format string, args ...any)

	levels  []string
	builder *labels.Builder  // for a tree
	columns []map[string]int // for independent levels
	aside   map[string]int32 // numbers of the values of Ignore
	noLevel error            // no column may be a level
}

// Rows holds the rows of a label file.
type Rows struct {
	// Labels are the classes of each row, −1 for no class; nil paths with OnlyIDs.
	Labels []labels.Path

	// IDs name the rows; nil if the file has no column "id".
	IDs []string

	// IsQuery and IsGallery are the columns of these names; nil if the file does not have them.
	IsQuery, IsGallery []bool

	// Ignore numbers the values of the column Classes.Ignore, −1 for an empty cell; nil without
	// such a column.
	Ignore []int32

	// Unnamed says that IDs come from a column without a name, as data frames write their index. If it
	// numbers the rows, it says nothing about the rows of other files.
	Unnamed bool

	// Part are the rows of Classes.Part; nil: all.
	Part []bool

	// Splits is the column "split"; nil without one.
	Splits []string
}

// Levels returns the names of the levels, finest first. It is nil before the first Read.
func (c *Classes) Levels() []string { return c.levels }

// Names returns the class names of a level, indexed by class number.
func (c *Classes) Names(level int) []string {
	if c.Independent {
		names := make([]string, len(c.columns[level]))
		for name, n := range c.columns[level] {
			names[n] = name
		}
		return names
	}
	var names []string
	for _, class := range c.builder.Hierarchy().Levels[level].Classes {
		names = append(names, class.Name)
	}
	return names
}

// Read is ReadAll for one file, whose columns may have one class, or another class in each row.
func (c *Classes) Read(path string) (*Rows, error) {
	sheets, err := c.sheets([]string{path})
	if err != nil {
		return nil, err
	}
	return c.rows(sheets[0])
}

// ReadAll returns the rows of files of labels:
//
//   - .npy: integers or texts [rows] or [rows, levels], finest first
//   - .npz, .pt, .safetensors: an array of labels, and perhaps one of ids
//   - .parquet: as the package comment describes
//   - any other: CSV with a heading, or .tsv with tabs. "id" names the rows, "is_query" and
//     "is_gallery" say on which side they are, and every other column that may be one is a level, finest
//     first
//
// A row without any class has −1 at every level. ReadAll fails if the levels differ from those of an
// earlier file, or if a class has two parents. If another order of the columns forms a tree, the
// error names it. A column of all files with one class, or with another class in each row, is no level
// unless Columns has it.
func (c *Classes) ReadAll(paths ...string) ([]*Rows, error) {
	sheets, err := c.sheets(paths)
	if err != nil {
		return nil, err
	}
	if !c.OnlyIDs {
		notes := twins(sheets)
		asked := slices.ContainsFunc(sheets, func(s *sheet) bool { return s.asked })
		if !asked && c.levels == nil {
			c.noLevel = dropNoLevels(sheets, c.say)
		}
		if err := sameKinds(sheets); err != nil {
			return nil, err
		}
		for _, level := range sheets[0].levels {
			for _, note := range notes[level] {
				c.say("%s", note)
			}
		}
	}
	var list []*Rows
	for _, s := range sheets {
		r, err := c.rows(s)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

func (c *Classes) say(format string, args ...any) {
	if c.Say != nil {
		c.Say(format, args...)
	}
}

// sheets reads files whose levels must be the same.
func (c *Classes) sheets(paths []string) (sheets []*sheet, err error) {
	o := &reading{aside: asides, asked: c.Columns, onlyIDs: c.OnlyIDs, part: c.Part, say: c.say}
	if c.Ignore != "" {
		o.aside = append(slices.Clone(asides), c.Ignore)
	}
	for _, path := range paths {
		s, err := readSheet(path, o)
		if err != nil {
			return nil, err
		}
		s.asked = s.asked || c.Recorded != nil && c.Recorded(path)
		if c.OnlyIDs {
			s.levels, s.classes = nil, nil
		} else if err := s.clearMissing(c.Missing, c.say); err != nil {
			return nil, err
		}
		if sheets = append(sheets, s); !c.OnlyIDs && len(s.levels) == 0 {
			return nil, fmt.Errorf("%s: no column with classes, want one for each level", path)
		}
		if !slices.Equal(s.levels, sheets[0].levels) {
			return nil, levelsDiffer(path, s.levels, sheets[0].levels)
		}
	}
	return sheets, nil
}

func levelsDiffer(path string, levels, want []string) error {
	return fmt.Errorf("%s: its levels are %s, want %s as for the queries", path, strings.Join(levels, ", "),
		strings.Join(want, ", "))
}

// rows numbers the classes of a sheet.
func (c *Classes) rows(s *sheet) (*Rows, error) {
	if !c.OnlyIDs {
		if err := c.declare(s.path, s.levels); err != nil {
			return nil, err
		}
	}
	r := &Rows{IDs: s.other["id"], Labels: make([]labels.Path, s.rows), Unnamed: s.unnamed, Part: s.rowsOf(c.Part),
		Splits: s.other["split"]}
	var err error
	if r.IsQuery, err = s.truths("is_query"); err != nil {
		return nil, err
	}
	if r.IsGallery, err = s.truths("is_gallery"); err != nil {
		return nil, err
	}
	if r.Ignore, err = c.ignored(s); err != nil {
		return nil, err
	}
	names := make([]string, len(s.levels))
	for i := range r.Labels {
		for l := range names {
			names[l] = s.classes[l][i]
		}
		if c.OnlyIDs {
			continue
		}
		if r.Labels[i], err = c.add(names, s.where(i)); err != nil {
			return nil, s.proposeOrder(err)
		}
	}
	return r, nil
}

// proposeOrder adds to the error of a class with two parents an order of the columns that forms a
// tree, or returns a [NoTreeError].
func (s *sheet) proposeOrder(err error) error {
	if !errors.As(err, new(*labels.ParentsError)) {
		return err
	}
	tree := &NoTreeError{err}
	if order := s.finestFirst(); order != nil && !tree.Uneven() {
		return fmt.Errorf("%w; the columns are %s, want the finest first: %s forms a tree", err,
			strings.Join(s.levels, ", "), strings.Join(order, ", "))
	}
	return tree
}

// ignored numbers the values of the column Ignore.
func (c *Classes) ignored(s *sheet) ([]int32, error) {
	if c.Ignore == "" {
		return nil, nil
	}
	column, has := s.other[c.Ignore]
	if !has {
		return nil, fmt.Errorf("%s has no column %.80q to ignore; its levels are %s", s.path, c.Ignore,
			strings.Join(s.levels, ", "))
	}
	if c.aside == nil {
		c.aside = map[string]int32{}
	}
	list := make([]int32, len(column))
	for i, text := range column {
		if text == "" {
			list[i] = -1
			continue
		}
		n, known := c.aside[text]
		if !known {
			n = int32(len(c.aside))
			c.aside[text] = n
		}
		list[i] = n
	}
	return list, nil
}

// declare records the levels of the first file. For later files it checks that the levels are
// the same.
func (c *Classes) declare(path string, levels []string) error {
	switch {
	case c.levels == nil:
		c.levels, c.builder = levels, labels.NewBuilder(levels...)
		for range levels {
			c.columns = append(c.columns, map[string]int{})
		}
	case !slices.Equal(c.levels, levels):
		return levelsDiffer(path, levels, c.levels)
	}
	return nil
}

// add returns the class numbers of a row and assigns numbers to new classes.
func (c *Classes) add(names []string, where string) (labels.Path, error) {
	if !slices.ContainsFunc(names, func(name string) bool { return name != "" }) {
		return slices.Repeat(labels.Path{-1}, len(names)), nil
	}
	if !c.Independent {
		return c.builder.Add(labels.Row{Names: names, Where: where, Uneven: c.Uneven})
	}
	p := make(labels.Path, len(names))
	for l, name := range names {
		if p[l] = -1; name == "" {
			continue
		}
		n, known := c.columns[l][name]
		if !known {
			n = len(c.columns[l])
			c.columns[l][name] = n
		}
		p[l] = int32(n)
	}
	return p, nil
}
