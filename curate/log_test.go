package curate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hgld/internal/filelock"
	"hgld/internal/testing/must"
)

// newLog makes a log with n edits and returns its path and bytes.
func newLog(t testing.TB, n int) (string, []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "edits.jsonl")
	must.Do(t, CreateLog(path, Header{By: "anna", Draft: "draft.json", DraftSHA256: "ab12"}))
	l, _, err := OpenLog(path)
	must.Do(t, err)
	defer l.Close()
	for i := range n {
		must.Do(t, l.Append(testEdit(i+1)))
	}
	data := must.Get(os.ReadFile(path))(t)
	return path, data
}

func testEdit(seq int) Edit {
	return Edit{Seq: seq, Base: seq - 1, At: time.Date(2026, 11, 21, 10, 0, seq%60, 0, time.UTC), By: "anna", Op: Move,
		From: refs("ocean area ", `château "fort" <x>@Q1`), To: fmt.Sprintf("group %d", seq), Note: "line\nend"}
}

func TestLogKeepsEditsByteForByte(t *testing.T) {
	path, data := newLog(t, 3)
	c, err := ReadLog(path)
	if err != nil || c.Torn != nil {
		t.Fatal(err, c.Torn)
	}
	for i, e := range c.Edits {
		if !reflect.DeepEqual(e, testEdit(i+1)) {
			t.Errorf("edit %d is %+v", i+1, e)
		}
	}
	if !reflect.DeepEqual(c.Header.Levels, DefaultLevels) || c.Header.By != "anna" || c.Header.Version != LogVersion {
		t.Errorf("header %+v", c.Header)
	}
	if bytes.Count(data, []byte("\n")) != 4 || !bytes.Contains(data, []byte(`<x>`)) {
		t.Errorf("log is not one plain JSON object a line:\n%s", data)
	}
	for line := range strings.Lines(string(data)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("line %q is not JSON", line)
		}
	}
	if err := CreateLog(path, Header{DraftSHA256: "ab"}); !errors.Is(err, os.ErrExist) {
		t.Errorf("making a log where one is: %v", err)
	}
}

func TestLogKeepsUnknownFields(t *testing.T) {
	extra := map[string]json.RawMessage{"zeal": json.RawMessage(`{"a":[1,2.50]}`), "colour": json.RawMessage(`"blue"`)}
	path := filepath.Join(t.TempDir(), "edits.jsonl")
	must.Do(t, CreateLog(path, Header{DraftSHA256: "ab", Extra: extra}))
	l, _, err := OpenLog(path)
	must.Do(t, err)
	defer l.Close()
	e := testEdit(1)
	e.Extra = extra
	must.Do(t, l.Append(e))
	c, err := ReadLog(path)
	if err != nil || !reflect.DeepEqual(c.Header.Extra, extra) || !reflect.DeepEqual(c.Edits[0].Extra, extra) {
		t.Errorf("read %s and %s (%v), want %s", c.Header.Extra, c.Edits[0].Extra, err, extra)
	}
	e = testEdit(2)
	e.Extra = map[string]json.RawMessage{"op": json.RawMessage(`"drop"`)}
	if err := l.Append(e); err == nil {
		t.Error("an unknown field with a known name was taken")
	}
}

func TestChecksumDetectsEveryBitFlip(t *testing.T) {
	path, data := newLog(t, 3)
	for i := range data {
		for bit := range 8 {
			data[i] ^= 1 << bit
			var damage *DamageError
			if c, err := parseLog(path, data); !errors.As(err, &damage) {
				t.Fatalf("byte %d, bit %d: %d edits and error %v", i, bit, len(c.Edits), err)
			}
			data[i] ^= 1 << bit
		}
	}
}

func TestDamageErrorNamesFileAndLine(t *testing.T) {
	path, data := newLog(t, 4)
	lines := bytes.SplitAfter(data, []byte("\n"))
	join := func(of ...int) []byte {
		var b []byte
		for _, i := range of {
			b = append(b, lines[i]...)
		}
		return b
	}
	for name, c := range map[string]struct {
		data []byte
		line int
	}{
		"a line is missing":             {join(0, 1, 3, 4), 3},
		"two lines are swapped":         {join(0, 2, 1, 3, 4), 2},
		"a line stands twice":           {join(0, 1, 1, 2), 3},
		"an empty line":                 {append(join(0, 1), '\n'), 3},
		"another draft's header":        {bytes.Replace(data, []byte("ab12"), []byte("cd34"), 1), 1},
		"no header":                     {join(1, 2), 1},
		"empty file":                    {nil, 1},
		"the header is torn":            {lines[0][:30], 1},
		"no log at all":                 {[]byte("tag,group\nchurch,church\n"), 1},
		"a written word behind the end": {append(bytes.TrimSuffix(join(0, 1), []byte("\n")), '!'), 2},
	} {
		_, err := parseLog(path, c.data)
		var damage *DamageError
		if !errors.As(err, &damage) || damage.Line != c.line || !strings.HasPrefix(err.Error(), path+":") {
			t.Errorf("%s: error %v, want damage in line %d", name, err, c.line)
		}
	}
}

func TestLogOfANewerFormatIsRejected(t *testing.T) {
	object := []byte(`{"hgld_edits":2,"draft_sha256":"ab","levels":["tag","group"]}`)
	line, _ := seal(object, 0, 0)
	if _, err := parseLog("e.jsonl", append(line, '\n')); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("error %v", err)
	}
}

func TestLockFileNamesThePID(t *testing.T) {
	path, _ := newLog(t, 1)
	l, _, err := OpenLog(path)
	must.Do(t, err)
	var locked *filelock.LockedError
	if _, _, err := OpenLog(path); !errors.As(err, &locked) || locked.PID != os.Getpid() || locked.Path != path {
		t.Errorf("second opening: %v, want locked by %d", err, os.Getpid())
	}
	if _, err := ReadLog(path); err != nil {
		t.Errorf("reading a log that is open: %v", err)
	}
	must.Do(t, l.Close())
	l, _, err = OpenLog(path)
	if err != nil {
		t.Fatalf("opening it after it was closed: %v", err)
	}
	l.Close()
}

// fullDisk is a file whose writes stop after room bytes.
type fullDisk struct {
	*os.File
	room       int
	noTruncate bool
}

var errFull = errors.New("no space left on device")

func (f *fullDisk) WriteAt(p []byte, off int64) (int, error) {
	if len(p) <= f.room {
		f.room -= len(p)
		return f.File.WriteAt(p, off)
	}
	n, _ := f.File.WriteAt(p[:f.room], off)
	f.room = 0
	return n, errFull
}

func (f *fullDisk) Truncate(size int64) error {
	if f.noTruncate {
		return errors.New("input/output error")
	}
	return f.File.Truncate(size)
}

func TestFullDiskLeavesTheLogUnchanged(t *testing.T) {
	path, before := newLog(t, 2)
	l, _, err := OpenLog(path)
	must.Do(t, err)
	defer l.Close()
	full := &fullDisk{File: l.file.(*os.File), room: 40}
	l.file = full
	if err := l.Append(testEdit(3)); !errors.Is(err, errFull) {
		t.Fatalf("append to a full disk: %v", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Errorf("the log has changed:\n%s", after)
	}
	full.room = 1 << 20
	if err := l.Append(testEdit(3)); err != nil {
		t.Errorf("append when there is room again: %v", err)
	}
	full.room, full.noTruncate = 10, true
	if err := l.Append(testEdit(4)); !errors.Is(err, errFull) {
		t.Fatalf("append to a full disk: %v", err)
	}
	full.room = 1 << 20
	if err := l.Append(testEdit(4)); err == nil || !strings.Contains(err.Error(), "open it again") {
		t.Errorf("append behind an end in doubt: %v", err)
	}
	if c, err := ReadLog(path); err != nil || len(c.Edits) != 3 || c.Torn == nil {
		t.Errorf("the log with a torn end: %v", err)
	}
}

// The contents of a line are checked even if its checksum is right.
func FuzzParseLog(f *testing.F) {
	_, data := newLog(f, 2)
	header, rest, _ := bytes.Cut(data, []byte("\n"))
	first := must.Get(unseal(header, 0, 0))(f)
	f.Add(rest, false)
	f.Add([]byte(`{"seq":1,"op":"split","level":1,"from":[{"name":"a"}],"parts":[{"to":"b","members":[{"name":"c"}]}]}`),
		true)
	f.Add([]byte(`{"seq":1,"op":"revert","of":-1,"from":null}`), true)
	f.Fuzz(func(t *testing.T, line []byte, sealed bool) {
		if sealed && len(line) > 0 {
			line, _ = seal(line, first.crc, 1)
		}
		c, err := parseLog("edits.jsonl", slices.Concat(header, []byte("\n"), line))
		if err != nil {
			return
		}
		s := start(t, churches(t))
		if _, err := s.Replay(c.Edits, Skip); err != nil && len(c.Edits) > 0 {
			if checkSequence(c.Edits, 3) == nil {
				t.Error(err)
			}
		}
	})
}

// Between the check for a log and the rename of a new one, no other process may create the log and
// append to it, because its edits would be lost.
func TestCreateLogFailsOnALockedLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "edits.jsonl")
	lock := must.Get(filelock.Acquire(path + ".lock"))(t)
	var locked *filelock.LockedError
	if err := CreateLog(path, Header{DraftSHA256: "ab12"}); !errors.As(err, &locked) || locked.Path != path {
		t.Errorf("error %v, want a LockedError of %s", err, path)
	}
	must.Do(t, lock.Close())
	must.Do(t, CreateLog(path, Header{DraftSHA256: "ab12"}))
	if err := CreateLog(path, Header{DraftSHA256: "ab12"}); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second one: %v", err)
	}
	l, _, err := OpenLog(path)
	must.Do(t, err)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
