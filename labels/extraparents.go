package labels

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
)

// The names of files of extra parents. The names that begin with Former are those of earlier versions.
const (
	ExtraParentsFile               = "extra_parents.csv"           // of tags and coarser classes, beside the hierarchy
	LandmarkExtraParentsFile       = "landmarks_extra_parents.csv" // of landmarks and coarser classes, beside the labels
	FormerExtraParentsFile         = "also.csv"
	FormerLandmarkExtraParentsFile = "landmarks_also.csv"
)

// Beside returns the path of a file in the folder of another.
func Beside(path, name string) string { return filepath.Join(filepath.Dir(path), name) }

// ExtraParent says that a class has another parent besides that of the tree.
type ExtraParent struct {
	Level  string // the level of the class, such as "landmark"
	Class  string // its name
	Parent string // a class of the next coarser level
	Where  string // the row of the file, for messages
}

// The column of the parents, and its name in earlier versions.
const parentColumn, formerParentColumn = "extra_parent", "also"

// ReadExtraParents reads a CSV with the columns level, class and extra_parent, which earlier versions called also. It
// has a row for each extra parent. Other columns are passed over.
func ReadExtraParents(r io.Reader, name string) ([]ExtraParent, error) {
	s, err := readSheet(r, name)
	if err != nil {
		return nil, err
	}
	level, class, parent := s.column("level"), s.column("class"), s.column(parentColumn)
	if parent < 0 {
		parent = s.column(formerParentColumn)
	}
	if level < 0 || class < 0 || parent < 0 {
		return nil, fmt.Errorf("%s:1: got %s; want level,class,%s (one row for each extra parent)", name, s.headers(),
			parentColumn)
	}
	list := make([]ExtraParent, len(s.rows))
	for i := range s.rows {
		f := s.rows[i].fields
		list[i] = ExtraParent{Level: f[level], Class: f[class], Parent: f[parent], Where: s.where(i)}
		if f[level] == "" || f[class] == "" || f[parent] == "" {
			return nil, fmt.Errorf("%s: a cell is empty; want the level of a class, its name and an extra parent", s.where(i))
		}
	}
	return list, nil
}

// OpenExtraParents is ReadExtraParents of the file at path. The error for a missing file with a former name has the
// name of today.
func OpenExtraParents(path string) ([]ExtraParent, error) {
	list, err := open(path, ReadExtraParents)
	if !errors.Is(err, fs.ErrNotExist) {
		return list, err
	}
	if now := NameNow(path); now != "" {
		err = fmt.Errorf("%w; its name is now %s", err, now)
	}
	return nil, err
}

// NameNow returns the name of today for a file of extra parents that has a former name, or "".
func NameNow(path string) string {
	return map[string]string{FormerExtraParentsFile: ExtraParentsFile,
		FormerLandmarkExtraParentsFile: LandmarkExtraParentsFile}[filepath.Base(path)]
}

// WroteExtraParents reports whether the file at path is what WriteExtraParents writes. A file with rows of another
// source, which somebody has added, is not.
func WroteExtraParents(path string) (bool, error) {
	text, err := open(path, func(r io.Reader, _ string) ([]byte, error) { return io.ReadAll(r) })
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	list, err := ReadExtraParents(bytes.NewReader(text), path)
	if err != nil {
		return false, nil // of another program
	}
	var again bytes.Buffer
	err = WriteExtraParents(&again, list)
	former := strings.Replace(again.String(), parentColumn, formerParentColumn, 1)
	return err == nil && (bytes.Equal(again.Bytes(), text) || former == string(text)), err
}

// extraHeader is the first line of the files of WriteExtraParents. The last column says where a row is from.
const extraHeader = "level,class," + parentColumn + ",source"

// WriteExtraParents writes extra parents that curators named, as ReadExtraParents reads them.
func WriteExtraParents(w io.Writer, list []ExtraParent) error {
	var b strings.Builder
	b.WriteString(extraHeader + "\n")
	for _, f := range list {
		b.WriteString(joinCSV([]string{f.Level, f.Class, f.Parent, "curated"}) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// LandmarkParents replaces the rows of tags, whose level has the given name, by a row for each labelled landmark
// with that tag, because a table names no tags as classes. The order is that of the list, then that of the
// table. The other rows stay as they are.
func (t *Table) LandmarkParents(tags string, list []ExtraParent) []ExtraParent {
	of := map[string][]string{} // landmarks by tag
	for l := range t.all() {
		if l.Labelled() {
			of[l.Tag] = append(of[l.Tag], l.Names[0])
		}
	}
	var rows []ExtraParent
	for _, f := range list {
		if f.Level != tags {
			rows = append(rows, f)
			continue
		}
		for _, landmark := range of[f.Class] {
			rows = append(rows, ExtraParent{Level: t.Levels[0], Class: landmark, Parent: f.Parent, Where: f.Where})
		}
	}
	return rows
}
