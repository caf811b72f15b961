package embeddings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hgld/internal/classes"
	"hgld/labels"
)

// Classes assigns numbers to the classes of several label files. Equal names get equal numbers
// in all of them. The zero value is ready to use.
type Classes struct {
	Labelling

	// OnlyIDs skips the levels: the rows need no classes.
	OnlyIDs bool

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
	list, err := c.readAll(false, path)
	if err != nil {
		return nil, err
	}
	return list[0], nil
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
// earlier file, or if a class has two parents. If another order of the columns forms a tree, that is
// the order of the levels. A column of all files with one class, or with another class in each row, is no level
// unless Columns has it.
func (c *Classes) ReadAll(paths ...string) ([]*Rows, error) {
	return c.readAll(c.levels == nil, paths...)
}

// readAll is ReadAll. Levels are guessed if nobody named them.
func (c *Classes) readAll(guessed bool, paths ...string) ([]*Rows, error) {
	sheets, err := c.sheets(guessed, paths)
	if err != nil {
		return nil, err
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

// sheets reads files whose levels must be the same.
func (c *Classes) sheets(guessed bool, paths []string) (sheets []*sheet, err error) {
	o := &reading{aside: asides, asked: c.Columns, onlyIDs: c.OnlyIDs, part: c.Part, log: c.log}
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
		}
		guessed = guessed && !s.asked
		if sheets = append(sheets, s); !c.OnlyIDs && len(s.levels) == 0 {
			return nil, fmt.Errorf("%s: no column with classes, want one for each level", path)
		}
		if !slices.Equal(s.levels, sheets[0].levels) {
			return nil, levelsDiffer(path, s.levels, sheets[0].levels)
		}
	}
	if c.OnlyIDs {
		return sheets, nil
	}
	of, err := read(sheets, classes.Options{Missing: c.Missing, Guessed: guessed, Independent: c.Independent})
	if err != nil {
		return nil, err
	}
	c.noLevel = of.NoLevel
	for _, note := range of.Notes {
		c.log("%s", note)
	}
	if err := sameKinds(sheets); err != nil {
		return nil, err
	}
	for _, note := range of.twins() {
		c.log("%s", note)
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
		if err := c.Declare(s.path, s.levels); err != nil {
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
		if r.Labels[i], err = c.Add(names, s.where(i)); err != nil {
			if errors.As(err, new(*labels.ParentsError)) {
				err = &NoTreeError{err}
			}
			return nil, err
		}
	}
	return r, nil
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

// Declare records the levels of the first file. For later files it checks that the levels are
// the same.
func (c *Classes) Declare(path string, levels []string) error {
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

// Add returns the class numbers of a row and assigns numbers to new classes.
func (c *Classes) Add(names []string, where string) (labels.Path, error) {
	if !slices.ContainsFunc(names, func(name string) bool { return name != "" }) {
		return slices.Repeat(labels.Path{-1}, len(names)), nil
	}
	if !c.Independent {
		return c.builder.Add(labels.Row{Names: names, Where: where, Partial: c.Partial})
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
