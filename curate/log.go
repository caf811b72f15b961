package curate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// The log, edits.jsonl, is UTF-8 with one JSON object per line, and every line ends with
// "\n". Line 1 is a Header, line n+1 is edit n. Two fields end each line:
//
//   - "crc" is the CRC-32C of the line up to the comma before it, continued from the
//     line before (from 0 for the header), as eight hexadecimal digits. It detects lines
//     that were changed, lost, moved, or pasted from another log.
//   - "end" is the number of edits in the last line and dashes in every other (see
//     checksum.go).
//
// A line is acknowledged once it is on disk. What a crash leaves of the next line has no
// valid checksum. It is cut off when the log is opened for writing, and the line before
// it still has the count. A log without the count is a truncated copy and counts as
// damaged. Unknown fields are kept.

// LogVersion is the format version of a log.
const LogVersion = 1

// Header is the first line of a log.
type Header struct {
	Version     int      `json:"hgld_edits"`      // format version
	By          string   `json:"by,omitempty"`    // name of the curator
	Draft       string   `json:"draft,omitempty"` // file name of the draft, for people; DraftSHA256 identifies it
	DraftSHA256 string   `json:"draft_sha256"`    // hexadecimal SHA-256 of the draft's file
	Levels      []string `json:"levels"`          // names of the levels, finest first
	// Adjudicates has the SHA-256 of the logs that an adjudicator's log decides between, at
	// least two; it is empty for a curator's own log.
	Adjudicates []string  `json:"adjudicates,omitempty"`
	Created     time.Time `json:"created,omitzero"` // time at which the log was made

	// Extra holds the fields of a newer minor version, which are kept on rewriting.
	Extra map[string]json.RawMessage `json:"-"`
}

var headerFields = []string{"hgld_edits", "by", "draft", "draft_sha256", "levels", "adjudicates", "created"}

// MarshalJSON writes the fields of Extra after the others.
func (h Header) MarshalJSON() ([]byte, error) {
	type plain Header
	return encode((*plain)(&h), h.Extra, headerFields)
}

// UnmarshalJSON keeps unknown fields in Extra.
func (h *Header) UnmarshalJSON(data []byte) error {
	type plain Header
	*h = Header{}
	extra, err := decode(data, (*plain)(h), headerFields)
	h.Extra = extra
	return err
}

// DamageError reports a log that differs from what was written.
type DamageError struct {
	Path string // path of the log
	Line int    // line where the damage begins, from 1
	// Reason says what is wrong.
	Reason string
}

// Error names the file and the line, and says what is wrong.
func (e *DamageError) Error() string { return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Reason) }

// Torn is the part of a line that a crash left at the end of a log. The count of the
// line before shows that its edit was never acknowledged.
type Torn struct {
	Path string // path of the log
	Line int    // number of the torn line, from 1
	Rest []byte // what is left of it
}

// String says where the torn line is and how it begins.
func (t *Torn) String() string {
	return fmt.Sprintf("%s:%d: the last line is torn: %d bytes of an edit that was never acknowledged (%.60q)",
		t.Path, t.Line, len(t.Rest), t.Rest)
}

// Contents is what a log holds.
type Contents struct {
	Header Header // first line
	Edits  []Edit // edits in order
	Torn   *Torn  // a torn last line; nil if the log ends as it should

	size  int64   // of the valid lines, in bytes
	crc   uint32  // of the last one
	end   bool    // whether the last one has its line end
	stale []count // of lines before the last one that still have digits
	last  count   // of the last one
}

// ImportAuthor is the author of an import that nobody in particular has made.
const ImportAuthor = "import"

// Curator returns the name of the curator whose log this is, "" for nobody: a log that only imports have begun
// belongs to whoever continues it.
func (c *Contents) Curator() string {
	if c.Header.By != "" && c.Header.By != ImportAuthor {
		return c.Header.By
	}
	for _, e := range c.Edits {
		if e.By != ImportAuthor {
			return e.By
		}
	}
	return ""
}

// ReadLog reads a log without changing it. The error is a *DamageError if the log is
// not as it was written.
func ReadLog(path string) (*Contents, error) {
	l, err := ReadLogFile(path)
	if err != nil {
		return nil, err
	}
	return l.Contents, nil
}

// parseLog reads the lines of a log. With a *DamageError it also returns the lines
// before the damage.
func parseLog(path string, data []byte) (*Contents, error) {
	c := &Contents{end: true}
	for line := 1; len(data) > 0; line++ {
		text, rest, ended := bytes.Cut(data, []byte("\n"))
		l, err := unseal(text, c.crc, line-1)
		switch {
		case err != nil && c.torn(data, line):
			c.Torn = &Torn{Path: path, Line: line, Rest: bytes.Clone(data)}
			if line == 1 {
				return c, &DamageError{path, 1, "the header is incomplete; this is not a log of edits"}
			}
			return c, c.whole(path)
		case err != nil && line == 1 && !bytes.Contains(text, []byte(`"hgld_edits"`)):
			return c, &DamageError{path, 1, "this is not a log of edits"}
		case err != nil:
			return c, &DamageError{path, line, err.Error()}
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
		return c, &DamageError{path, 1, "the file is empty; this is not a log of edits"}
	}
	return c, c.whole(path)
}

// torn reports whether data was left by a crash in the middle of an unacknowledged edit.
// data reaches from a line without a valid checksum to the end of the log. A crash leaves
// the beginning of a line or, after a power cut, a line with zeros in any place; a complete
// line never contains a zero byte. The line before still has its count in that case, because
// it loses the count only when the next edit is on disk.
func (c *Contents) torn(data []byte, line int) bool {
	end := bytes.IndexByte(data, '\n')
	if c.last.is == final && bytes.IndexByte(data, 0) >= 0 {
		return end < 0 || end == len(data)-1
	}
	return end < 0 && !sealedWithin(data, c.crc, line-1)
}

// whole returns a *DamageError if the last line was once followed by another edit.
func (c *Contents) whole(path string) error {
	if c.last.is != followed {
		return nil
	}
	return &DamageError{path, len(c.Edits) + 2, fmt.Sprintf("the log is truncated: edit %d was acknowledged and is "+
		"missing, "+
		"with all edits after it; this is a truncated copy", len(c.Edits)+1)}
}

// take decodes a line with a valid checksum.
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
		return fmt.Errorf("this is edit %d; want edit %d", e.Seq, line-1)
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
		return errors.New(`field "hgld_edits" is missing: this is not a log of edits`)
	case h.Version > LogVersion:
		return fmt.Errorf("format version %d is not supported; this hgld reads versions up to %d: use a newer "+
			"hgld", h.Version,
			LogVersion)
	case len(h.Levels) < 2:
		return fmt.Errorf("levels %.80q; want tags and at least one level of groups", h.Levels)
	case slices.Contains(h.Levels, "") || len(slices.Compact(slices.Sorted(slices.Values(h.Levels)))) < len(h.Levels):
		return fmt.Errorf("levels %.80q; want a different name for each", h.Levels)
	case h.DraftSHA256 == "":
		return errors.New("draft_sha256, which identifies the draft, is missing")
	case len(h.Adjudicates) == 1:
		return errors.New("adjudicates lists 1 log; want two or more")
	}
	return nil
}
