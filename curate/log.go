package curate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"time"
)

// The log, edits.jsonl: UTF-8, one JSON object a line, each line ended by "\n".
// Line 1 is a Header, line n+1 the edit number n. The last field of every line is
// "crc", eight hexadecimal digits: CRC-32C of the line up to the comma before it,
// continued from the line before (from 0 for the header). A line that is
// changed, lost or moved is therefore found; so is one pasted from another log.
//
// A line is acknowledged when it is on disk. What a crash leaves of the next one
// has no valid checksum and no line end, and is cut when the log is opened for
// writing. Fields that a reader does not know are kept.

// LogVersion is the format version of the log that this hgld writes; it reads
// every version up to it.
const LogVersion = 1

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
// never acknowledged.
type Torn struct {
	Path string
	Line int
	Rest []byte
}

// String says where the torn line stands and how it begins.
func (t *Torn) String() string {
	return fmt.Sprintf("%s:%d: the last line is torn: %d bytes of an edit that was never acknowledged (%.60q)", t.Path, t.Line, len(t.Rest), t.Rest)
}

// Contents is what a log holds.
type Contents struct {
	Header Header
	Edits  []Edit
	Torn   *Torn // nil if the log ends as it should

	size int64  // of the good lines
	crc  uint32 // of the last one
	end  bool   // whether the last one has its line end
}

// ReadLog reads a log and changes nothing. A log that is not as it was written is
// a *DamageError.
func ReadLog(path string) (*Contents, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseLog(path, data)
}

func parseLog(path string, data []byte) (*Contents, error) {
	c := &Contents{end: true}
	for line := 1; len(data) > 0; line++ {
		text, rest, ended := bytes.Cut(data, []byte("\n"))
		body, crc, err := unseal(text, c.crc)
		switch {
		case err != nil && !ended && !sealedWithin(text, c.crc):
			c.Torn = &Torn{Path: path, Line: line, Rest: bytes.Clone(text)}
			if line == 1 {
				return nil, &DamageError{path, 1, "the header is not complete; this is no log of edits"}
			}
			return c, nil
		case err != nil && line == 1 && !bytes.Contains(text, []byte(`"hgld_edits"`)):
			return nil, &DamageError{path, 1, "this is no log of edits, as `hgld curate serve` writes it"}
		case err != nil:
			return nil, &DamageError{path, line, err.Error()}
		}
		if err := c.take(body, line); err != nil {
			return nil, &DamageError{path, line, err.Error()}
		}
		c.size += int64(len(text))
		if ended {
			c.size++
		}
		c.crc, c.end, data = crc, ended, rest
	}
	if c.size == 0 {
		return nil, &DamageError{path, 1, "the file is empty; this is no log of edits"}
	}
	return c, nil
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
		return fmt.Errorf("levels %q; want tags and at least one level of groups", h.Levels)
	case slices.Contains(h.Levels, "") || len(slices.Compact(slices.Sorted(slices.Values(h.Levels)))) < len(h.Levels):
		return fmt.Errorf("levels %q; want a name for each, and each once", h.Levels)
	case h.DraftSHA256 == "":
		return errors.New("draft_sha256 is missing: the draft that the edits belong to")
	case len(h.Adjudicates) != 0 && len(h.Adjudicates) != 2:
		return fmt.Errorf("adjudicates %d logs, want two", len(h.Adjudicates))
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	sealStart = `,"crc":"`
	sealEnd   = `"}`
	sealSize  = len(sealStart) + 8 + len(sealEnd)
)

// seal turns a JSON object into a line of the log without its line end, and
// returns the checksum that the next line continues from.
func seal(object []byte, before uint32) ([]byte, uint32) {
	body := object[:len(object)-1]
	crc := crc32.Update(before, castagnoli, body)
	return fmt.Appendf(bytes.Clone(body), "%s%08x%s", sealStart, crc, sealEnd), crc
}

// unseal checks a line and returns its object without the checksum.
func unseal(line []byte, before uint32) ([]byte, uint32, error) {
	if len(line) < sealSize+1 {
		return nil, 0, errors.New("the line has no checksum")
	}
	body := line[:len(line)-sealSize]
	crc := crc32.Update(before, castagnoli, body)
	if want := fmt.Sprintf("%s%08x%s", sealStart, crc, sealEnd); string(line[len(body):]) != want {
		return nil, 0, errors.New("the line does not fit its checksum: it, or one before it, was changed after it was written; take the log from a backup")
	}
	return append(bytes.Clone(body), '}'), crc, nil
}

// sealedWithin says whether a whole line stands at the beginning of text: then
// it was acknowledged, and what follows it is damage and no torn line.
func sealedWithin(text []byte, before uint32) bool {
	for from := 0; ; {
		at := bytes.Index(text[from:], []byte(sealStart))
		if at < 0 || from+at+sealSize > len(text) {
			return false
		}
		if _, _, err := unseal(text[:from+at+sealSize], before); err == nil {
			return true
		}
		from += at + len(sealStart)
	}
}
