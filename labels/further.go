package labels

import (
	"fmt"
	"io"
)

// FurtherParent says that a class has another parent besides that of the tree.
type FurtherParent struct {
	Level  string // the level of the class, such as "landmark"
	Class  string // its name
	Parent string // a class of the next coarser level
	Where  string // the row of the file, for messages
}

// ReadFurtherParents reads a CSV with the columns level, class and also, a row for each further parent.
// Other columns are passed over.
func ReadFurtherParents(r io.Reader, name string) ([]FurtherParent, error) {
	s, err := readSheet(r, name)
	if err != nil {
		return nil, err
	}
	level, class, also := s.column("level"), s.column("class"), s.column("also")
	if level < 0 || class < 0 || also < 0 {
		return nil, fmt.Errorf("%s:1: got %s; want level,class,also (one row for each further parent)", name, s.headers())
	}
	list := make([]FurtherParent, len(s.rows))
	for i := range s.rows {
		f := s.rows[i].fields
		list[i] = FurtherParent{Level: f[level], Class: f[class], Parent: f[also], Where: s.where(i)}
		if f[level] == "" || f[class] == "" || f[also] == "" {
			return nil, fmt.Errorf("%s: a cell is empty; want the level of a class, its name and a further parent", s.where(i))
		}
	}
	return list, nil
}

// OpenFurtherParents is ReadFurtherParents of the file at path.
func OpenFurtherParents(path string) ([]FurtherParent, error) { return open(path, ReadFurtherParents) }
