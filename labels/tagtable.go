package labels

import (
	"fmt"
	"io"
)

// TagRow is a row of a table of landmarks and tags from another source.
type TagRow struct {
	LandmarkKey
	Category string // URL of the Commons page, "" where no column says it
	Item     string // the landmark's Wikidata item, "" where no column says it
	Tag      string // byte for byte, "" for a page that has none
	Where    string // file and line, for messages
}

// ColumnError says that a table lacks a requested column.
type ColumnError struct {
	// File is the table, Column the column asked for.
	File, Column string
	Have         []string // the columns of the file
}

// Error lists the columns of the file.
func (e *ColumnError) Error() string {
	return fmt.Sprintf("%s:1: column %.80q is missing; got %s", e.File, e.Column, listed(e.Have))
}

// maxTagField bounds the fields that become part of a line of tags.jsonl, so that the
// line stays below maxLine even if a tag of control characters occurs in it four times.
// The longest known category has 255 bytes before its escapes.
const maxTagField = 16 << 10

// ReadTagTable reads a CSV of landmarks and tags: landmark_id, the given column with
// the tag, and optionally split, category and wikidata_id. Other columns are ignored.
// The split is determined as in ParseCSV, with the same errors: *SplitUnknownError,
// *SplitAskedError, and a landmark that occurs twice. A missing column is a
// *ColumnError.
func ReadTagTable(r io.Reader, name, column string, o ReadOptions) ([]TagRow, error) {
	s, err := readSheet(r, name)
	if err != nil {
		return nil, err
	}
	for _, c := range []string{"landmark_id", column} {
		if s.column(c) < 0 {
			return nil, &ColumnError{File: name, Column: c, Have: s.columns}
		}
	}
	split, err := splitOf(s, o)
	if err != nil {
		return nil, err
	}
	tag, category, item := s.column(column), s.column("category"), s.column("wikidata_id")
	rows := make([]TagRow, len(s.rows))
	first := make(map[LandmarkKey]int, len(s.rows))
	for i := range s.rows {
		fields := s.rows[i].fields
		rows[i] = TagRow{Tag: fields[tag], Where: s.where(i)}
		if rows[i].LandmarkKey, err = s.landmark(i, split); err != nil {
			return nil, err
		}
		if category >= 0 {
			rows[i].Category = fields[category]
		}
		if item >= 0 {
			rows[i].Item = fields[item]
		}
		for _, f := range []string{rows[i].Tag, rows[i].Category, rows[i].Item} {
			if len(f) > maxTagField {
				return nil, fmt.Errorf("%s: %.40q… has %d bytes; want a tag, a category or an item of at most %d", rows[i].Where, f, len(f), maxTagField)
			}
		}
		if j, twice := first[rows[i].LandmarkKey]; twice {
			return nil, fmt.Errorf("%s: %s landmark %d occurs twice, first at %s", rows[i].Where, rows[i].Split, rows[i].Landmark, rows[j].Where)
		}
		first[rows[i].LandmarkKey] = i
	}
	return rows, nil
}
