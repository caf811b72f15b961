package curate

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"hgld/internal/testing/must"
)

// Whatever is wrong with a log, the edits before it are kept, and the new log goes
// on like any other.
func TestSalvageKeepsTheEditsBeforeTheDamage(t *testing.T) {
	path, data := newLog(t, 12)
	lines := bytes.SplitAfter(data, []byte("\n"))
	flipped := slices.Clone(data)
	flipped[len(slices.Concat(lines[:7]...))+30] ^= 1
	for name, c := range map[string]struct {
		data []byte
		keep int
		left int
	}{
		"a changed byte in edit 7": {flipped, 6, 6},
		"cut between two edits":    {slices.Concat(lines[:6]...), 5, 0},
		"cut within an edit":       {slices.Concat(slices.Concat(lines[:6]...), lines[6][:50]), 5, 1},
		"cut behind the header":    {lines[0], 0, 0},
		"a line is missing":        {slices.Concat(slices.Concat(lines[:4]...), slices.Concat(lines[5:]...)), 3, 8},
		"zeros behind it":          {slices.Concat(data, make([]byte, 99), []byte("\nand more\n")), 12, 2},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			from, to := filepath.Join(dir, "edits.jsonl"), filepath.Join(dir, "new.jsonl")
			must.Do(t, os.WriteFile(from, c.data, 0o600))
			s, err := Salvage(from, to)
			if err != nil || s.Damage == nil || s.Damage.Line != c.keep+2 || len(s.Edits) != c.keep || s.Left != c.left {
				t.Fatalf("%d edits, %d lines left, damage %v, %v; want %d and %d",
					len(s.Edits), s.Left, s.Damage, err, c.keep, c.left)
			}
			if kept, err := os.ReadFile(from); err != nil || !bytes.Equal(kept, c.data) {
				t.Errorf("the damaged log has changed (%v)", err)
			}
			made := must.Get(os.ReadFile(to))(t)
			got, err := reopen(t, made)
			if err != nil || got.Torn != nil || got.last.is != final || !reflect.DeepEqual(got.Edits, s.Edits) {
				t.Errorf("the new log: %v, the count is %v", err, got.last)
			}
			if _, err := Salvage(from, to); !errors.Is(err, os.ErrExist) {
				t.Errorf("a second time: %v, want it to refuse the file that is there", err)
			}
		})
	}
	s, err := Salvage(path, path+".new")
	if err != nil || s.Damage != nil || len(s.Edits) != 12 {
		t.Errorf("a sound log: damage %v, %v", s.Damage, err)
	}
	if _, err := os.Stat(path + ".new"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a sound log was written again (%v)", err)
	}
	var damage *DamageError
	headless := filepath.Join(t.TempDir(), "headless.jsonl")
	must.Do(t, os.WriteFile(headless, data[9:], 0o600))
	if _, err := Salvage(headless, headless+".new"); !errors.As(err, &damage) {
		t.Errorf("a log without its header: %v, want damage", err)
	}
}
