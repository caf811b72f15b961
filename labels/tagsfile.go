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
	var records []Record
	header, err := eachTag(r, name, func(rec *Record) { records = append(records, *rec) })
	if err != nil {
		return TagsHeader{}, nil, err
	}
	return header, records, nil
}

// eachTag is ReadTags for records that are used one after another.
func eachTag(r io.Reader, name string, use func(*Record)) (header TagsHeader, err error) {
	var seen seenRecords
	err = readLines(r, name, "hgld_tags", TagsVersion, &header, func(d *document) error {
		var rec Record
		if err := d.decode(&rec); err != nil {
			return err
		}
		if err := rec.Check(); err != nil {
			return d.errorf(0, "%w", err)
		}
		if first := seen.add(LandmarkKey{rec.Split, rec.Landmark}, d.line); first > 0 {
			return d.errorf(0, "%s landmark %d is already in line %d; want one record per landmark", rec.Split, rec.Landmark,
				first)
		}
		use(&rec)
		return nil
	})
	return header, err
}

// seenRecords finds a landmark that occurs twice. In a file in order, as hgld writes it, a landmark takes 8 bytes.
type seenRecords struct {
	sorted []int64       // of each line from the second
	first  map[int64]int // line of each, once one is out of order
}

// add returns the line of an earlier record of a landmark, 0 if there is none.
func (s *seenRecords) add(k LandmarkKey, line int) int {
	key := int64(slices.Index(Splits, k.Split))<<32 | int64(k.Landmark)
	if n := len(s.sorted); s.first == nil && (n == 0 || s.sorted[n-1] < key) {
		s.sorted = append(s.sorted, key)
		return 0
	}
	if s.first == nil {
		s.first = map[int64]int{}
		for i, k := range s.sorted {
			s.first[k] = i + 2
		}
		s.sorted = nil
	}
	before := s.first[key]
	if before == 0 {
		s.first[key] = line
	}
	return before
}

// readLines decodes the first line of r into header, after a check of the version in its field key, and calls use for
// every other line.
func readLines(r io.Reader, name, key string, version int, header any, use func(*document) error) error {
	empty := true
	err := eachLine(r, name, func(d *document) error {
		if empty = false; d.line > 1 {
			return use(d)
		}
		if _, err := d.version(key, version); err != nil {
			return err
		}
		return d.decode(header)
	})
	if err == nil && empty {
		err = fmt.Errorf(`%s:1: the file is empty; want the header {"%s": %d, …}`, name, key, version)
	}
	return err
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
	seen map[LandmarkKey]bool
}

// NewTagsWriter writes the header in the current format version and returns a writer
// for the records. It does not buffer: pass a bufio.Writer, or a file that is synced
// after each record.
func NewTagsWriter(w io.Writer, h TagsHeader) (*TagsWriter, error) {
	h.Version = TagsVersion
	t := &TagsWriter{w: w, seen: map[LandmarkKey]bool{}}
	data, err := h.MarshalJSON()
	if err := writeLine(w, data, err); err != nil {
		return nil, fmt.Errorf("tags.jsonl: header: %w", err)
	}
	return t, nil
}

// Write appends one record as one line, in a single call of the underlying writer. If
// ReadTags would reject the record, it returns an error and writes nothing.
func (t *TagsWriter) Write(rec Record) error {
	key := LandmarkKey{rec.Split, rec.Landmark}
	err := rec.Check()
	if err == nil && t.seen[key] {
		err = errors.New("the landmark was already written; want one record per landmark")
	}
	if err == nil {
		var data []byte
		data, err = rec.MarshalJSON()
		err = writeLine(t.w, data, err)
	}
	if err != nil {
		return fmt.Errorf("tags.jsonl: %s landmark %d: %w", rec.Split, rec.Landmark, err)
	}
	t.seen[key] = true
	return nil
}

// writeLine writes a line in a single call.
func writeLine(w io.Writer, data []byte, err error) error {
	if err != nil {
		return err
	}
	if len(data) >= maxLine {
		return fmt.Errorf("line of %d bytes; readers accept %d", len(data), maxLine)
	}
	_, err = w.Write(append(data, '\n'))
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
