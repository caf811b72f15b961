package dataset

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"hgld/internal/classes"
	"hgld/internal/regular"
	"hgld/labels"
	"hgld/shards"
)

// landmarks are the labels of stage 3, looked up by split and landmark id.
type landmarks struct {
	file    string
	table   *labels.Table
	joins   map[labels.Split]*labels.Join
	classes *classes.Columns // the levels above the landmark; nil: there are none
	notes   []string         // about cells that mean no class
}

// readLandmarks reads a label file. split applies if neither the file's name nor a
// column states the split.
func readLandmarks(file string, split labels.Split, noClass []string) (*landmarks, error) {
	table, err := readTable(file, "")
	if errors.As(err, new(*labels.SplitUnknownError)) {
		table, err = readTable(file, split)
	}
	if err != nil {
		return nil, err
	}
	if len(table.Levels) != 3 || table.Levels[0] != labels.LandmarkLevel || table.OneIDSpace {
		return nil, fmt.Errorf("%s: levels %v; want labels of landmarks (landmark, supercategory, kind)",
			filepath.Base(file), table.Levels)
	}
	return newLandmarks(file, table, noClass)
}

// newLandmarks takes the labels of a table. noClass is that of [Settings].
func newLandmarks(file string, table *labels.Table, noClass []string) (*landmarks, error) {
	l := &landmarks{file: file, table: table, joins: map[labels.Split]*labels.Join{}}
	base := filepath.Base(file)
	if len(table.Levels) < 2 {
		return l, nil
	}
	rows := func(yield func([]string, string) bool) {
		for i := range table.Rows {
			if !yield(table.Rows[i].Names[1:], base) {
				return
			}
		}
	}
	o := classes.Options{Missing: noClass, Independent: true, Exact: true}
	var err error
	if l.classes, err = classes.Look(table.Levels[1:], o, classes.Table{Name: base, Rows: rows}); err != nil {
		return nil, err
	}
	l.notes = l.classes.Notes
	return l, nil
}

func readTable(file string, split labels.Split) (*labels.Table, error) {
	f, err := regular.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return labels.Read(f, filepath.Base(file), labels.ReadOptions{Split: split})
}

// label sets the classes of an item by its landmark. A landmark that is missing from
// the label file, or has no label there, is a class without a supercategory; an image
// without a landmark has no class at all. Images of a split that the file does not
// contain are an error, because ids of different splits are unrelated.
func (l *landmarks) label(item *shards.Item, id string) error {
	item.Landmark = -1
	if id == "" {
		return nil
	}
	n, err := landmarkID(id)
	if err != nil {
		return err
	}
	return l.labelOf(item, n)
}

func landmarkID(id string) (labels.LandmarkID, error) {
	n, err := strconv.ParseInt(id, 10, 32)
	if err != nil || n < 0 {
		return -1, fmt.Errorf("landmark_id %.80q; want a whole number from 0 up", id)
	}
	return labels.LandmarkID(n), nil
}

// labelOf is label for the number of a landmark.
func (l *landmarks) labelOf(item *shards.Item, n labels.LandmarkID) error {
	join := l.joins[item.Split]
	if join == nil {
		var err error
		if join, err = l.table.Join(item.Split); err != nil {
			return err
		}
		l.joins[item.Split] = join
	}
	item.Landmark = n
	key := labels.LandmarkKey{Split: item.Split, Landmark: item.Landmark}
	item.Names = []string{key.String(), "", ""}
	if found, ok := join.Label(item.Landmark); ok {
		if l.classes != nil {
			copy(item.Names[1:], l.classes.Read(0, found.Names[1:]))
		}
		a := &item.Attributes
		a.CategoryURL, a.WikidataQID, a.Tag, a.LabelSource = found.Category, found.Item, found.Tag, found.Source
	}
	return nil
}
