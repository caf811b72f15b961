package labels

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// TagsVersion is the format version of tags.jsonl.
const TagsVersion = 1

// TagsHeader is the first line of tags.jsonl: what the file is and how it was made. One
// Record per landmark follows, each on its own line. Neither has the time of its making,
// so that equal pages give equal files.
type TagsHeader struct {
	Version int    `json:"hgld_tags"`        // format version
	Tool    string `json:"tool,omitempty"`   // hgld's version
	Source  string `json:"source,omitempty"` // "page", "api" or the name of an import

	Extra map[string]json.RawMessage `json:"-"` // unknown fields
}

// MarshalJSON writes Extra beside the fields.
func (h TagsHeader) MarshalJSON() ([]byte, error) {
	type plain TagsHeader
	return encodeObject((*plain)(&h), h.Extra)
}

// MarshalJSON writes Extra beside the fields.
func (r Record) MarshalJSON() ([]byte, error) {
	type plain Record
	return encodeObject((*plain)(&r), r.Extra)
}

// MarshalJSON writes Extra beside the fields.
func (v TagValue) MarshalJSON() ([]byte, error) {
	type plain TagValue
	return encodeObject((*plain)(&v), v.Extra)
}

// Check checks a record by itself. It rejects an id below 0, an unknown split or
// outcome, a tag without OK, and OK without a tag.
func (r *Record) Check() error {
	switch {
	case r.Landmark < 0:
		return fmt.Errorf("landmark_id %d is negative", r.Landmark)
	case !slices.Contains(Splits, r.Split):
		return fmt.Errorf("unknown split %.80q; want one of %v", r.Split, Splits)
	case !slices.Contains(Outcomes, r.Outcome):
		return fmt.Errorf("unknown outcome %.80q; want one of %v", r.Outcome, Outcomes)
	case r.Outcome == OK && r.Tag == "":
		return errors.New("outcome ok without a tag; want a tag, or the outcome that explains why there is none")
	case r.Outcome != OK && r.Tag != "":
		return fmt.Errorf("outcome %s, but tag %.80q; only ok has a tag", r.Outcome, r.Tag)
	}
	return nil
}

// ReadTags reads tags.jsonl. Errors begin with name and the line. It rejects a line
// longer than 1 MiB, a landmark that occurs twice (landmarks are counted per tag
// later), and what Record.Check rejects.
func ReadTags(r io.Reader, name string) (TagsHeader, []Record, error) {
	var header TagsHeader
	var records []Record
	lineOf := map[landmarkKey]int{}
	err := eachLine(r, name, func(d *document) error {
		if d.line == 1 {
			return readTagsHeader(d, &header)
		}
		var rec Record
		if err := readRecord(d, &rec); err != nil {
			return err
		}
		k := landmarkKey{rec.Split, rec.Landmark}
		if first, twice := lineOf[k]; twice {
			return d.errorf(0, "%s landmark %d is already in line %d; want one record per landmark", rec.Split, rec.Landmark,
				first)
		}
		lineOf[k] = d.line
		records = append(records, rec)
		return nil
	})
	if err == nil && header.Version == 0 {
		err = fmt.Errorf(`%s:1: the file is empty; want the header {"hgld_tags": %d, …}`, name, TagsVersion)
	}
	if err != nil {
		return TagsHeader{}, nil, err
	}
	return header, records, nil
}

func readTagsHeader(d *document, h *TagsHeader) error {
	if _, err := d.version("hgld_tags", TagsVersion); err != nil {
		return err
	}
	var err error
	h.Extra, err = d.object(d.root(), h, headerFields)
	return err
}

func readRecord(d *document, rec *Record) error {
	extra, err := d.object(d.root(), rec, recordFields, "landmark_id", "split", "outcome")
	if err != nil {
		return err
	}
	rec.Extra = extra
	for _, m := range d.members(d.root()) {
		if m.key != "values" || rec.Values == nil {
			continue
		}
		for i, e := range d.elements(m.value) {
			if rec.Values[i].Extra, err = d.object(e, &rec.Values[i], tagValueFields); err != nil {
				return err
			}
		}
	}
	if err := rec.Check(); err != nil {
		return d.errorf(0, "%w", err)
	}
	return nil
}

// eachLine calls use for every line of r, as a checked document.
func eachLine(r io.Reader, name string, use func(*document) error) error {
	lines := bufio.NewReaderSize(r, maxLine)
	for number := 1; ; number++ {
		line, err := lines.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			return fmt.Errorf("%s:%d: line is longer than %d bytes", name, number, maxLine)
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
		if len(line) == 0 && err == io.EOF {
			return nil
		}
		d := &document{name: name, line: number, data: bytes.TrimRight(line, "\r\n")}
		if err := d.check(); err != nil {
			return err
		}
		if err := use(d); err != nil {
			return err
		}
	}
}

// TagsWriter writes tags.jsonl record by record.
type TagsWriter struct {
	w    io.Writer
	seen map[landmarkKey]bool
}

// landmarkKey identifies a landmark: its id within its split.
type landmarkKey struct {
	split    Split
	landmark LandmarkID
}

// NewTagsWriter writes the header in the current format version and returns a writer
// for the records. It does not buffer: pass a bufio.Writer, or a file that is synced
// after each record.
func NewTagsWriter(w io.Writer, h TagsHeader) (*TagsWriter, error) {
	h.Version = TagsVersion
	t := &TagsWriter{w: w, seen: map[landmarkKey]bool{}}
	if err := t.line(h.MarshalJSON()); err != nil {
		return nil, fmt.Errorf("tags.jsonl: header: %w", err)
	}
	return t, nil
}

// Write appends one record as one line, in a single call of the underlying writer. If
// ReadTags would reject the record, it returns an error and writes nothing.
func (t *TagsWriter) Write(rec Record) error {
	key := landmarkKey{rec.Split, rec.Landmark}
	err := rec.Check()
	if err == nil && t.seen[key] {
		err = errors.New("the landmark was already written; want one record per landmark")
	}
	if err == nil {
		err = t.line(rec.MarshalJSON())
	}
	if err != nil {
		return fmt.Errorf("tags.jsonl: %s landmark %d: %w", rec.Split, rec.Landmark, err)
	}
	t.seen[key] = true
	return nil
}

func (t *TagsWriter) line(data []byte, err error) error {
	if err != nil {
		return err
	}
	if len(data) >= maxLine {
		return fmt.Errorf("line of %d bytes; readers accept %d", len(data), maxLine)
	}
	_, err = t.w.Write(append(data, '\n'))
	return err
}

// WriteTags writes a whole tags.jsonl.
func WriteTags(w io.Writer, h TagsHeader, records []Record) error {
	b := bufio.NewWriter(w)
	t, err := NewTagsWriter(b, h)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if err := t.Write(rec); err != nil {
			return err
		}
	}
	return b.Flush()
}
