package labels

import (
	"fmt"
	"io"
	"strings"
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

// furtherHeader is the first line of the files of WriteFurtherParents. The last column says where a row is from.
const furtherHeader = "level,class,also,source"

// WriteFurtherParents writes further parents that curators named, as ReadFurtherParents reads them.
func WriteFurtherParents(w io.Writer, list []FurtherParent) error {
	var b strings.Builder
	b.WriteString(furtherHeader + "\n")
	for _, f := range list {
		b.WriteString(joinCSV([]string{f.Level, f.Class, f.Parent, "curated"}) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// LandmarkParents replaces the rows of tags, whose level has the given name, by a row for each labelled landmark
// with that tag, because a table names no tags as classes. The order is that of the list, then that of the
// table. The other rows stay as they are.
func (t *Table) LandmarkParents(tags string, list []FurtherParent) []FurtherParent {
	of := map[string][]string{} // landmarks by tag
	for i := range t.Rows {
		if l := &t.Rows[i]; l.Labelled() {
			of[l.Tag] = append(of[l.Tag], l.Names[0])
		}
	}
	var rows []FurtherParent
	for _, f := range list {
		if f.Level != tags {
			rows = append(rows, f)
			continue
		}
		for _, landmark := range of[f.Class] {
			rows = append(rows, FurtherParent{Level: t.Levels[0], Class: landmark, Parent: f.Parent, Where: f.Where})
		}
	}
	return rows
}
