package curate

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// reopen opens a log with the given bytes, appends an edit to it and returns its former contents. It
// checks the new contents.
func reopen(t *testing.T, data []byte) (*Contents, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "edits.jsonl")
	must.Do(t, os.WriteFile(path, data, 0o644))
	l, c, err := OpenLog(path)
	if err != nil {
		return nil, err
	}
	n := len(c.Edits) + 1
	must.Do(t, l.Append(testEdit(n)))
	must.Do(t, l.Close())
	again, err := ReadLog(path)
	if err != nil || len(again.Edits) != n || again.Torn != nil || len(again.stale) > 0 || again.last.is != final {
		t.Fatalf("after an append: %v, lines before have the counts %v, the last one %v", err, again.stale, again.last)
	}
	return c, nil
}

// A crash during an append may leave any part of the line after a log that still ends with its count.
// The part is cut off and reported.
func TestTornLastLineIsCutAndReported(t *testing.T) {
	for n := range 3 {
		_, before := newLog(t, n)
		_, after := newLog(t, n+1)
		lines := bytes.SplitAfter(after, []byte("\n"))
		added := lines[n+1]
		for size := range len(added) + 1 {
			if size > 4 && size < len(added)-40 && size%9 != 0 {
				continue
			}
			c, err := reopen(t, slices.Concat(before, added[:size]))
			if err != nil {
				t.Fatalf("%d edits and %d of %d bytes: %v", n, size, len(added), err)
			}
			whole, torn := n, size > 0
			if size >= len(added)-1 { // only its line end is missing: nothing is lost
				whole, torn = n+1, false
			}
			if len(c.Edits) != whole || (c.Torn != nil) != torn {
				t.Fatalf("%d edits and %d of %d bytes: %d edits, torn %v", n, size, len(added), len(c.Edits), c.Torn)
			}
			if !torn {
				continue
			}
			said := c.Torn.String()
			if len(c.Torn.Rest) != size || !strings.Contains(said, fmt.Sprintf("edits.jsonl:%d", n+2)) ||
				strings.Contains(said, "copy") {
				t.Fatalf("torn line: %v, want %d bytes in line %d", c.Torn, size, n+2)
			}
		}
	}
}

// A truncated copy lacks acknowledged edits, wherever it was cut.
func TestTruncatedCopyIsDamage(t *testing.T) {
	path, data := newLog(t, 12)
	for size := range len(data) - 1 {
		_, err := parseLog(path, data[:size])
		var damage *DamageError
		if !errors.As(err, &damage) {
			t.Fatalf("%d of %d bytes: error %v, want damage", size, len(data), err)
		}
		lines := bytes.Count(data[:size+1], []byte("\n"))
		missing := fmt.Sprintf("edit %d was acknowledged and is missing", lines)
		if lines > 0 && (damage.Line != lines+1 || !strings.Contains(err.Error(), missing)) {
			t.Fatalf("%d of %d bytes: %v, want it to miss edit %d", size, len(data), err, lines)
		}
	}
	if c, err := parseLog(path, data[:len(data)-1]); err != nil || len(c.Edits) != 12 {
		t.Errorf("without its last line end: %v", err)
	}
}

// The dashes of the line before the last one are written once the last line is on disk. A power cut
// may lose them.
func TestCountRestoredByAPowerCutIsNoDamage(t *testing.T) {
	_, before := newLog(t, 9)
	_, after := newLog(t, 10)
	data := append(slices.Clone(before), after[len(before):]...)
	if bytes.Equal(data, after) {
		t.Fatal("the count of edit 9 was not replaced")
	}
	c, err := reopen(t, data)
	if err != nil || len(c.Edits) != 10 {
		t.Errorf("%d edits, %v", len(c.Edits), err)
	}
}

// A power cut may leave zeros in place of any part of the last line and its line end.
func TestZerosAfterAPowerCutAreCutAndReported(t *testing.T) {
	_, before := newLog(t, 11)
	_, after := newLog(t, 12)
	added := bytes.SplitAfter(after, []byte("\n"))[12]
	for from := 0; from < len(added); from += 7 {
		for to := from + 1; to <= len(added); to += 11 {
			line := slices.Clone(added)
			clear(line[from:to])
			c, err := parseLog("edits.jsonl", slices.Concat(before, line))
			if from%14 == 0 && to == from+1 {
				c, err = reopen(t, slices.Concat(before, line))
			}
			if err != nil || len(c.Edits) != 11 || c.Torn == nil || !bytes.Equal(c.Torn.Rest, line) {
				t.Fatalf("zeros from %d to %d: %v, %+v", from, to, err, c)
			}
		}
	}
	line := slices.Clone(added)
	line[len(line)-1] = 0
	if c, err := reopen(t, slices.Concat(before, line)); err != nil || len(c.Edits) != 11 || c.Torn == nil {
		t.Errorf("a zero for the line end: %v", err)
	}
	for name, data := range map[string][]byte{
		"another line":            slices.Concat(before, []byte("{\"seq\":12}\n")),
		"zeros and another line":  slices.Concat(before, make([]byte, 9), []byte("\nmore\n")),
		"zeros where edit 12 was": slices.Concat(after[:len(before)], make([]byte, len(added))),
	} {
		if _, err := parseLog("edits.jsonl", data); !errors.As(err, new(*DamageError)) {
			t.Errorf("%s: %v, want damage", name, err)
		}
	}
}

// A power cut may write only some of the dashes, because they can be in two sectors. The edit after
// them is then on disk.
func TestPartlyWrittenDashesCountAsDashes(t *testing.T) {
	_, data := newLog(t, 12)
	at := bytes.Index(data, []byte(`"end":"--"`)) + len(`"end":"`)
	for _, text := range []string{"1-", "-0"} {
		copy(data[at:], text)
		if c, err := reopen(t, data); err != nil || len(c.Edits) != 12 {
			t.Errorf("%s: %v", text, err)
		}
	}
	copy(data[at:], "-1")
	if _, err := parseLog("edits.jsonl", data); !errors.As(err, new(*DamageError)) {
		t.Errorf("-1 for edit 10: %v, want damage", err)
	}
}
