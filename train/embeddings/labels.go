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

	levels  []string
	builder *labels.Builder  // for a tree
	columns []map[string]int // for independent levels
	aside   map[string]int32 // numbers of the values of Ignore
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

// Read returns the rows of a file of labels:
//
//   - .npy: integers [rows] or [rows, levels], finest first; a negative integer means no class
//   - .parquet: as the package comment describes
//   - any other: CSV with a heading, or .tsv with tabs. "id" names the rows, "is_query" and
//     "is_gallery" say on which side they are, and every other column is a level, finest
//     first
//
// A row without any class has −1 at every level. Read fails if the levels differ from those of an
// earlier file, or if a class has two parents. If another order of the columns forms a tree, the
// error names it.
func (c *Classes) Read(path string) (*Rows, error) {
	aside := asides
	if c.Ignore != "" {
		aside = append(slices.Clone(asides), c.Ignore)
	}
	s, err := readSheet(path, aside, c.OnlyIDs)
	if err != nil {
		return nil, err
	}
	if c.OnlyIDs {
		s.levels, s.classes = nil, nil
	} else if err := c.declare(path, s.levels); err != nil {
		return nil, err
	}
	r := &Rows{IDs: s.other["id"], Labels: make([]labels.Path, s.rows)}
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
	if order := s.finestFirst(); order != nil {
		return fmt.Errorf("%w; the columns are %s, want the finest first: %s forms a tree", err,
			strings.Join(s.levels, ", "), strings.Join(order, ", "))
	}
	return &NoTreeError{err}
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
	case len(levels) == 0:
		return fmt.Errorf("%s: no column with classes, want one for each level", path)
	case c.levels == nil:
		c.levels, c.builder = levels, labels.NewBuilder(levels...)
		for range levels {
			c.columns = append(c.columns, map[string]int{})
		}
	case !slices.Equal(c.levels, levels):
		return fmt.Errorf("%s: its levels are %s, want %s as for the queries", path, strings.Join(levels, ", "),
			strings.Join(c.levels, ", "))
	}
	return nil
}

// add returns the class numbers of a row and assigns numbers to new classes.
func (c *Classes) add(names []string, where string) (labels.Path, error) {
	if !slices.ContainsFunc(names, func(name string) bool { return name != "" }) {
		return slices.Repeat(labels.Path{-1}, len(names)), nil
	}
	if !c.Independent {
		return c.builder.Add(labels.Row{Names: names, Where: where})
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
