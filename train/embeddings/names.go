package embeddings

import (
	"maps"
	"slices"
	"strings"

	"hgld/internal/classes"
	"hgld/internal/spelling"
)

// sameKinds returns an error for a level whose classes are numbers in one file and texts in another.
func sameKinds(sheets []*sheet) error {
	for l, level := range sheets[0].levels {
		var paths []string
		kinds := make([]spelling.Kinds, len(sheets))
		for i, s := range sheets {
			paths = append(paths, s.path)
			for _, c := range s.classes[l] {
				if c != "" {
					kinds[i].Add(strings.TrimPrefix(c, "-"))
				}
			}
		}
		if err := classes.SameKinds(level, paths, kinds); err != nil {
			return err
		}
	}
	return nil
}

// columns are the columns of sheets as they are read.
type columns struct {
	*classes.Columns
	sheets []*sheet
	forms  []spelling.Forms // by level
}

// read reads the cells of sheets that have the same levels: the sheets have names of classes in one form of Unicode
// then, and their levels are those of the columns.
func read(sheets []*sheet, o classes.Options) (*columns, error) {
	var tables []classes.Table
	for _, s := range sheets {
		tables = append(tables, classes.Table{Name: s.path, Rows: s.cells})
	}
	found, err := classes.Look(sheets[0].levels, o, tables...)
	if err != nil {
		return nil, err
	}
	c := &columns{found, sheets, make([]spelling.Forms, len(found.Levels))}
	for i, s := range sheets {
		names := make([][]string, len(c.Levels))
		for cells := range s.cells {
			for l, name := range c.Read(i, cells) {
				names[l] = append(names[l], c.forms[l].Add(name))
			}
		}
		s.levels, s.classes = c.Levels, names
	}
	return c, nil
}

// cells yields the cells of the levels, row by row.
func (s *sheet) cells(yield func(cells []string, where string) bool) {
	cells := make([]string, len(s.levels))
	for i := range s.rows {
		for l := range cells {
			cells[l] = s.classes[l][i]
		}
		if !yield(cells, s.where(i)) {
			return
		}
	}
}

// twins names the classes that are written in two forms of Unicode, and those that are probably one.
func (c *columns) twins() (notes []string) {
	for l, level := range c.Levels {
		different := map[string]bool{}
		for _, s := range c.sheets {
			for _, name := range s.classes[l] {
				different[name] = true
			}
		}
		delete(different, "")
		for _, note := range c.forms[l].Notes(level, slices.Sorted(maps.Keys(different))) {
			notes = append(notes, "note: "+note)
		}
	}
	return notes
}
