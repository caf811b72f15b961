package labels

import (
	"cmp"
	"fmt"
	"strings"
)

// Build joins the tags of stage 1 with the hierarchy of stage 3 and gives every landmark
// its label:
//
//	landmark -> tag (records) -> supercategory -> kind (hierarchy)
//
// The hierarchy's finest level holds the tags. The table's finest level holds the
// landmarks, and its other levels are the hierarchy's. Every record becomes one row,
// ordered by split and id. A row without a label has a Reason: the outcome of its record,
// or what curation did with its tag. records and h must be valid, as returned by ReadTags
// and ReadHierarchy.
func Build(records []Record, h *Hierarchy) (*Table, error) {
	t, err := BuildFrom(func(use func(*Record)) error {
		for i := range records {
			use(&records[i])
		}
		return nil
	}, h)
	if err != nil {
		return nil, err
	}
	t.Rows, t.made = t.collect(), nil
	return t, t.Build()
}

// BuildFrom is Build for records that a function passes to another, one after another. The table keeps neither records
// nor Rows, but some 90 bytes of each landmark: its methods count and write the rows. It has no Hierarchy.
func BuildFrom(records func(use func(*Record)) error, h *Hierarchy) (*Table, error) {
	if len(h.Levels) < 2 {
		return nil, fmt.Errorf("build: the hierarchy has only the level %.80q; want tags and at least one coarser level",
			h.Levels[0].Name)
	}
	t := &Table{Version: TableVersion, Levels: []string{LandmarkLevel}}
	for _, level := range h.Levels[1:] {
		t.Levels = append(t.Levels, level.Name)
	}
	find, names := h.Lookup(), map[int32][]string{}
	c := &compact{t: t, source: curatedSource}
	c.label = func(l *LandmarkLabel, rec *Record) int32 { return h.label(find, l, rec) }
	c.above = func(class int32) []string {
		if names[class] == nil {
			names[class] = h.Names(h.PathOf(class))[1:]
		}
		return names[class]
	}
	return c.table(records)
}

// curatedSource is the Source of a label that curation gave.
const curatedSource = "curated"

// label sets the classes of a row above the landmark's own and returns the class of its tag, or sets the reason why it
// has none and returns −1.
func (h *Hierarchy) label(find *Lookup, l *LandmarkLabel, rec *Record) int32 {
	c, known := find.Class(0, rec.Tag)
	switch {
	case rec.Outcome != OK:
		l.Reason, l.Detail = Reason(rec.Outcome), rec.Error
	case !known:
		l.Reason = TagUnknown
	case h.Levels[0].Classes[c].Dropped != "":
		l.Reason, l.Detail = TagDropped, h.Levels[0].Classes[c].Dropped
	case h.Levels[0].Classes[c].Parent < 0:
		l.Reason, l.Detail = TagUnassigned, h.Levels[0].Classes[c].Note
	default:
		return c
	}
	return -1
}

// fill sets what a row has of its record: all but the label.
func (t *Table) fill(l *LandmarkLabel, rec *Record) {
	l.Split, l.Landmark, l.Category, l.Tag = rec.Split, rec.Landmark, rec.Category, rec.Tag
	l.Raw, l.Item = rawTag(rec), rec.Item
	l.Names[0] = t.ClassName(l.Key())
}

// rawTag returns a record's tag byte for byte. With --paper-text the tag includes the
// qualifiers that the page prints after it; these are not in the record's Raw, so the
// printed text is returned.
func rawTag(rec *Record) string {
	if strings.HasPrefix(rec.Tag, strings.Join(strings.Fields(rec.Raw), " ")+" (") {
		return rec.Tag
	}
	return cmp.Or(rec.Raw, rec.Tag)
}
