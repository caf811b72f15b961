package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"hgld/internal/classes"
	"hgld/internal/spelling"
)

// Cells are the different cells of the levels of some tables. It is read from JSON.
type Cells struct {
	Levels  []string    `json:"levels"`    // names of the levels
	Missing []string    `json:"na_values"` // cells that mean no class; none: the usual words
	Tables  []CellTable `json:"tables"`    // the sides of an evaluation
}

// CellTable has the different cells of each level and how often they occur.
type CellTable struct {
	Name   string     `json:"name"`   // for messages
	Cells  [][]string `json:"cells"`  // by level
	Counts [][]int    `json:"counts"` // by level
}

// Numbered has the number of the class of each cell, −1 for no class, and what was decided.
type Numbered struct {
	Numbers [][][]int32 `json:"numbers"` // by table and level
	Notes   []string    `json:"notes"`   // for the user
}

// Number gives the classes that cells name their numbers, the same in all tables. It reads cells as the program reads
// those of files.
func Number(text []byte) (*Numbered, error) {
	var in Cells
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("the labels are no JSON of the expected form: %w", err)
	}
	out := &Numbered{Numbers: make([][][]int32, len(in.Tables)), Notes: []string{}}
	for l, level := range in.Levels {
		if err := in.number(l, level, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// number numbers the classes of a level.
func (in *Cells) number(l int, level string, out *Numbered) error {
	var tables []classes.Table
	for _, t := range in.Tables {
		if len(t.Cells) != len(in.Levels) || len(t.Counts) != len(in.Levels) || len(t.Cells[l]) != len(t.Counts[l]) {
			return fmt.Errorf("%s has cells of %d levels, want %d, and a count for each cell", t.Name, len(t.Cells),
				len(in.Levels))
		}
		tables = append(tables, classes.Table{Name: t.Name, Rows: func(yield func([]string, string) bool) {
			for i, cell := range t.Cells[l] {
				for range t.Counts[l][i] {
					if !yield([]string{cell}, t.Name) {
						return
					}
				}
			}
		}})
	}
	read, err := classes.Look([]string{level}, classes.Options{Missing: in.Missing}, tables...)
	if doubt := (*spelling.MissingError)(nil); errors.As(err, &doubt) {
		err = fmt.Errorf("%w na_values=[%.80q] says that it means no class, na_values=[\"-1\"] that it is one", err,
			doubt.Word)
	}
	if err != nil {
		return err
	}
	var names []string
	var forms spelling.Forms
	numbers, kinds := map[string]int32{"": -1}, make([]spelling.Kinds, len(tables))
	for i, t := range in.Tables {
		list := make([]int32, len(t.Cells[l]))
		for k, cell := range t.Cells[l] {
			name := forms.Add(read.Read(i, []string{cell})[0])
			if name != "" {
				kinds[i].Add(strings.TrimPrefix(name, "-"))
			}
			n, known := numbers[name]
			if !known {
				n = int32(len(names))
				numbers[name], names = n, append(names, name)
			}
			list[k] = n
		}
		out.Numbers[i] = append(out.Numbers[i], list)
	}
	out.Notes = append(out.Notes, append(read.Notes, forms.Notes(level, names)...)...)
	var of []string
	for _, t := range in.Tables {
		of = append(of, t.Name)
	}
	return classes.SameKinds(level, of, kinds)
}
