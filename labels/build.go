package labels

import (
	"cmp"
	"fmt"
	"slices"
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
	if len(h.Levels) < 2 {
		return nil, fmt.Errorf("build: the hierarchy has only the level %.80q; want tags and at least one coarser level",
			h.Levels[0].Name)
	}
	t := &Table{Version: TableVersion, Levels: []string{LandmarkLevel}, Rows: make([]LandmarkLabel, len(records))}
	for _, level := range h.Levels[1:] {
		t.Levels = append(t.Levels, level.Name)
	}
	lookup := h.Lookup()
	for i := range records {
		rec := &records[i]
		l := &t.Rows[i]
		l.Split, l.Landmark, l.Category, l.Tag = rec.Split, rec.Landmark, rec.Category, rec.Tag
		l.Raw, l.Item = rawTag(rec), rec.Item
		l.Names = make([]string, len(t.Levels))
		l.Names[0] = t.ClassName(l.Key())
		if rec.Outcome != OK {
			l.Reason, l.Detail = Reason(rec.Outcome), rec.Error
			continue
		}
		c, known := lookup.Class(0, rec.Tag)
		if !known {
			l.Reason = TagUnknown
			continue
		}
		if class := h.Levels[0].Classes[c]; class.Parent < 0 {
			l.Reason, l.Detail = TagUnassigned, class.Note
			if class.Dropped != "" {
				l.Reason, l.Detail = TagDropped, class.Dropped
			}
			continue
		}
		copy(l.Names[1:], h.Names(h.PathOf(c))[1:])
		l.Source = "curated"
	}
	slices.SortFunc(t.Rows, func(a, b LandmarkLabel) int {
		return cmp.Or(slices.Index(Splits, a.Split)-slices.Index(Splits, b.Split), cmp.Compare(a.Landmark, b.Landmark))
	})
	if err := t.checkRows(); err != nil {
		return nil, err
	}
	return t, t.Build()
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
