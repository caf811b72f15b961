package curate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// The log, edits.jsonl: UTF-8, one JSON object a line, each line ended by "\n".
// Line 1 is a Header, line n+1 the edit number n. The last field of every line is
// "crc", eight hexadecimal digits: CRC-32C of the line up to the comma before it,
// continued from the line before (from 0 for the header). A line that is
// changed, lost or moved is therefore found; so is one pasted from another log.
// Behind it stands "end" (see seal.go): the number of edits in the last line, dashes
// in every other. Lines of format version 1 end with the checksum.
//
// A line is acknowledged when it is on disk. What a crash leaves of the next one
// has no valid checksum and is cut when the log is opened for writing; the line
// before it still has the count. Without the count the log is a copy that was cut, or
// damaged. Fields that a reader does not know are kept.

// LogVersion is the format version of the log that this hgld writes; it reads
// every version up to it.
const LogVersion = 2

// Header is the first line of a log.
type Header struct {
	Version     int       `json:"hgld_edits"` // format version
	By          string    `json:"by,omitempty"`
	Draft       string    `json:"draft,omitempty"` // name of the draft's file
	DraftSHA256 string    `json:"draft_sha256"`
	Levels      []string  `json:"levels"`                // names, finest first
	Adjudicates []string  `json:"adjudicates,omitempty"` // SHA-256 of the two logs that this one decides between
	Created     time.Time `json:"created,omitzero"`

	Extra map[string]json.RawMessage `json:"-"`
}

var headerFields = []string{"hgld_edits", "by", "draft", "draft_sha256", "levels", "adjudicates", "created"}

// MarshalJSON writes Extra behind the fields.
func (h Header) MarshalJSON() ([]byte, error) {
	type plain Header
	return encode((*plain)(&h), h.Extra, headerFields)
}

// UnmarshalJSON keeps the fields it does not know in Extra.
func (h *Header) UnmarshalJSON(data []byte) error {
	type plain Header
	*h = Header{}
	extra, err := decode(data, (*plain)(h), headerFields)
	h.Extra = extra
	return err
}

// DamageError says that a log is not what was written.
type DamageError struct {
	Path   string
	Line   int
	Reason string
}

// Error is the line of the log, and what is wrong with it.
func (e *DamageError) Error() string { return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Reason) }

// Torn is the rest of a line that a crash left at the end of a log. Its edit was
// never acknowledged, which the count of the line before it shows.
type Torn struct {
	Path      string
	Line      int
	Rest      []byte
	Uncounted bool // the line before has no count: of a copy that was cut, this may be all
}

// String says where the torn line stands and how it begins.
func (t *Torn) String() string {
	text := fmt.Sprintf("%s:%d: the last line is torn: %d bytes of an edit that was never acknowledged",
		t.Path, t.Line, len(t.Rest))
	if t.Uncounted {
		text += ", unless this is a copy that was cut: the line before is of an hgld that wrote no count"
	}
	return fmt.Sprintf("%s (%.60q)", text, t.Rest)
}

// Contents is what a log holds.
type Contents struct {
	Header Header
	Edits  []Edit
	Torn   *Torn // nil if the log ends as it should

	size  int64   // of the good lines
	crc   uint32  // of the last one
	end   bool    // whether the last one has its line end
	stale []count // of lines before the last one that still have digits
	last  count   // of the last one
}

// ReadLog reads a log and changes nothing. A log that is not as it was written is
// a *DamageError.
func ReadLog(path string) (*Contents, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := parseLog(path, data)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// parseLog reads the lines of a log. With a *DamageError, it returns those before
// the damage as well.
func parseLog(path string, data []byte) (*Contents, error) {
	c := &Contents{end: true}
	for line := 1; len(data) > 0; line++ {
		text, rest, ended := bytes.Cut(data, []byte("\n"))
		l, err := unseal(text, c.crc, line-1)
		switch {
		case err != nil && c.torn(data, line):
			c.Torn = &Torn{Path: path, Line: line, Rest: bytes.Clone(data), Uncounted: c.last.is == uncounted}
			if line == 1 {
				return c, &DamageError{path, 1, "the header is not complete; this is no log of edits"}
			}
			return c, c.whole(path)
		case err != nil && line == 1 && !bytes.Contains(text, []byte(`"hgld_edits"`)):
			return c, &DamageError{path, 1, "this is no log of edits, as `hgld curate serve` writes it"}
		case err != nil:
			return c, &DamageError{path, line, err.Error()}
		}
		if c.last.is != uncounted && l.count.is == uncounted {
			return c, &DamageError{path, line, `"end" is missing, and the line before has it`}
		}
		if err := c.take(l.object, line); err != nil {
			return c, &DamageError{path, line, err.Error()}
		}
		if c.last.is == final || c.last.torn {
			c.stale = append(c.stale, c.last)
		}
		c.last = l.count.from(c.size)
		c.size += int64(len(text))
		if ended {
			c.size++
		}
		c.crc, c.end, data = l.crc, ended, rest
	}
	if c.size == 0 {
		return c, &DamageError{path, 1, "the file is empty; this is no log of edits"}
	}
	return c, c.whole(path)
}

// torn reports whether data, from a line without a valid checksum to the end of the
// log, is what a crash has left of an edit that was not acknowledged: the beginning of
// its line or, after a power cut, a line with zeros in the place of any part. The line
// before it then has its count, which it loses when the edit is on disk. No line that
// was written has a zero byte.
func (c *Contents) torn(data []byte, line int) bool {
	end := bytes.IndexByte(data, '\n')
	if c.last.is == final && bytes.IndexByte(data, 0) >= 0 {
		return end < 0 || end == len(data)-1
	}
	return end < 0 && !sealedWithin(data, c.crc, line-1)
}

// whole is a *DamageError if an edit once followed the last line.
func (c *Contents) whole(path string) error {
	if c.last.is != followed {
		return nil
	}
	return &DamageError{path, len(c.Edits) + 2, fmt.Sprintf("the log is cut: edit %d was acknowledged and is missing, "+
		"with all that followed; this is a copy that did not come to its end", len(c.Edits)+1)}
}

// take decodes a line whose checksum is right.
func (c *Contents) take(body []byte, line int) error {
	if line == 1 {
		if err := json.Unmarshal(body, &c.Header); err != nil {
			return err
		}
		return c.Header.check()
	}
	var e Edit
	if err := json.Unmarshal(body, &e); err != nil {
		return err
	}
	if e.Seq != line-1 {
		return fmt.Errorf("edit %d stands where edit %d belongs", e.Seq, line-1)
	}
	if err := e.Check(len(c.Header.Levels)); err != nil {
		return err
	}
	c.Edits = append(c.Edits, e)
	return nil
}

func (h *Header) check() error {
	switch {
	case h.Version < 1:
		return errors.New(`field "hgld_edits" is missing: this is no log of edits`)
	case h.Version > LogVersion:
		return fmt.Errorf("format version %d is newer than version %d, which this hgld reads; use a newer hgld", h.Version, LogVersion)
	case len(h.Levels) < 2:
		return fmt.Errorf("levels %.80q; want tags and at least one level of groups", h.Levels)
	case slices.Contains(h.Levels, "") || len(slices.Compact(slices.Sorted(slices.Values(h.Levels)))) < len(h.Levels):
		return fmt.Errorf("levels %.80q; want a name for each, and each once", h.Levels)
	case h.DraftSHA256 == "":
		return errors.New("draft_sha256 is missing: the draft that the edits belong to")
	case len(h.Adjudicates) != 0 && len(h.Adjudicates) != 2:
		return fmt.Errorf("adjudicates %d logs, want two", len(h.Adjudicates))
	}
	return nil
}
