package labels

import (
	"cmp"
	"fmt"
	"slices"
)

// SplitError is returned when landmarks of one split would be joined with labels of
// another. In GLDv2 train and index number their landmarks independently, so the join
// would silently give every landmark the label of another place.
type SplitError struct {
	Table string     // the label file
	Asked Split      // the split of the landmarks
	Have  []Split    // the splits of the labels
	ID    LandmarkID // an id of the table, as an example
}

// Error names the splits and the right file.
func (e *SplitError) Error() string {
	table := e.Table
	if table == "" {
		table = "the label table"
	}
	return fmt.Sprintf("%s has landmarks of split %v and cannot be joined with split %s: their ids are different id "+
		"spaces, %s %d and %s %d are different places; use the label file of split %s, or, if this data set numbers its "+
		"landmarks through all splits, declare one id space",
		table, e.Have, e.Asked, e.Asked, e.ID, e.Have[0], e.ID, e.Asked)
}

// Join is an index of a table by landmark id, for one split.
type Join struct {
	table *Table
	rows  map[LandmarkID]int
}

// Join indexes the labels of one split. Unless t has one id space, it takes only rows
// of that split and returns a *SplitError if there are none. If an id has several rows
// (its images, or rows of several splits in one id space), they must agree on its
// classes.
func (t *Table) Join(split Split) (*Join, error) {
	if !slices.Contains(Splits, split) {
		return nil, fmt.Errorf("join: unknown split %.80q; want one of %v", split, Splits)
	}
	j := &Join{t, make(map[LandmarkID]int, len(t.Rows))}
	for i := range t.Rows {
		l := &t.Rows[i]
		if l.Split != split && !t.OneIDSpace {
			continue
		}
		first, known := j.rows[l.Landmark]
		if !known {
			j.rows[l.Landmark] = i
			continue
		}
		if !slices.Equal(t.Rows[first].Names, l.Names) {
			return nil, fmt.Errorf("%s: landmark %d is %.80q, but %.80q at %s; want one label per landmark", t.where(i),
				l.Landmark, l.Names, t.Rows[first].Names, t.where(first))
		}
	}
	if len(j.rows) == 0 && len(t.Rows) > 0 {
		return nil, &SplitError{Table: t.name, Asked: split, Have: t.Splits(), ID: t.Rows[0].Landmark}
	}
	return j, nil
}

// Label returns the row of a landmark.
func (j *Join) Label(id LandmarkID) (*LandmarkLabel, bool) {
	i, ok := j.rows[id]
	if !ok {
		return nil, false
	}
	return &j.table.Rows[i], true
}

// Fill copies category, tag and Wikidata item from the rows of the same landmark in from to rows that
// lack them, and returns the number of changed rows. It returns a *SplitError if from
// lacks a split of t.
func (t *Table) Fill(from *Table) (int, error) {
	joins := map[Split]*Join{}
	for _, split := range t.Splits() {
		j, err := from.Join(split)
		if err != nil {
			return 0, err
		}
		joins[split] = j
	}
	changed := 0
	for i := range t.Rows {
		l := &t.Rows[i]
		other, ok := joins[l.Split].Label(l.Landmark)
		if !ok {
			continue
		}
		before := [3]string{l.Category, l.Tag, l.Item}
		l.Category, l.Tag, l.Item = cmp.Or(l.Category, other.Category), cmp.Or(l.Tag, other.Tag), cmp.Or(l.Item, other.Item)
		if before != [3]string{l.Category, l.Tag, l.Item} {
			changed++
		}
	}
	return changed, nil
}
