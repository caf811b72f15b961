//go:build amd64

package curate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/powercut"
)

// powerCutEdits is the number of edits in the trace of a log. It has two digits, so that the count at
// the end changes its length.
const powerCutEdits = 12

// logEdits makes the log in dir, unless it exists, and appends the edits that it lacks. It reports
// each edit as acknowledged, as the server does.
func logEdits(dir string, done func(seq int) error) (path string, err error) {
	path = filepath.Join(dir, "edits.jsonl")
	err = CreateLog(path, Header{By: "anna", Draft: "draft.json", DraftSHA256: "ab12"})
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return path, err
	}
	l, c, err := OpenLog(path)
	if err != nil {
		return path, err
	}
	for i := len(c.Edits) + 1; i <= powerCutEdits && err == nil; i++ {
		if err = l.Append(testEdit(i)); err == nil {
			err = done(i)
		}
	}
	return path, errors.Join(err, l.Close())
}

// TestPowerCutsLoseNoAcknowledgedEdit cuts the power at each system call of a log. The log then opens
// with every acknowledged edit, and the rest can be appended.
func TestPowerCutsLoseNoAcknowledgedEdit(t *testing.T) {
	acknowledge := func(int) error { return nil }
	if dir := os.Getenv("HGLD_POWERCUT_CHILD"); dir != "" {
		acknowledge = func(seq int) error { return powercut.Acknowledge(dir, strconv.Itoa(seq)) }
		if _, err := logEdits(dir, acknowledge); err != nil {
			t.Fatal(err)
		}
		return
	}
	path := must.Get(logEdits(t.TempDir(), acknowledge))(t)
	want := must.Get(os.ReadFile(path))(t)
	dir := t.TempDir()
	powercut.Record(t, powercut.Child(t, "HGLD_POWERCUT_CHILD="+dir), dir).Check(t,
		func(dir string, c *powercut.Crash) error {
			path := filepath.Join(dir, "edits.jsonl")
			acknowledged := len(c.Lines())
			read, err := ReadLog(path)
			if err != nil && (acknowledged > 0 || !errors.Is(err, fs.ErrNotExist)) {
				return err
			}
			if err == nil && len(read.Edits) < acknowledged {
				return fmt.Errorf("the log has %d edits, and %d were acknowledged", len(read.Edits), acknowledged)
			}
			if _, err := logEdits(dir, func(int) error { return nil }); err != nil {
				return err
			}
			got, err := os.ReadFile(path)
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("the log ends as\n%s\nwant\n%s", got, want)
			}
			return err
		})
}
