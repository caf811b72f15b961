package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
)

// If the last of several files fails, the first keeps its content, and no other file is left
// behind.
func TestNoFileAppearsBeforeAllAreComplete(t *testing.T) {
	dir := t.TempDir()
	first, failed := filepath.Join(dir, "first"), errors.New("the source ended")
	must.Do(t, os.WriteFile(first, []byte("before"), 0o644))
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	list := []Content{{first, text("after")}, {filepath.Join(dir, "second"), func(io.Writer) error { return failed }}}
	if err := WriteAll(list); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
	entries, err := os.ReadDir(dir)
	if got, _ := os.ReadFile(first); err != nil || len(entries) != 1 || string(got) != "before" {
		t.Errorf("%v, %v, %q", entries, err, got)
	}
	list[1].Fill = text("2")
	must.Do(t, WriteAll(list))
	if got, _ := os.ReadFile(list[1].Path); string(got) != "2" {
		t.Errorf("%q", got)
	}
	if got, _ := os.ReadFile(first); string(got) != "after" {
		t.Errorf("%q", got)
	}
}
