package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// Linux takes any bytes for a name. Shards and tables hold text: other readers refuse what is not UTF-8, and so
// does hgld.
func TestNamesThatAreNotUTF8AreRefused(t *testing.T) {
	for _, name := range []string{"a/caf\xe9.jpg", "caf\xe9/1.jpg"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte("image"), 0o644))
		_, err := Folder{}.Open(t.Context(), Settings{Input: dir})
		_, other := OpenImages(t.Context(), dir)
		for _, err := range []error{err, other} {
			if !errors.As(err, new(*NameError)) || !strings.Contains(err.Error(), `caf\xe9`) {
				t.Errorf("%q: error %v", name, err)
			}
		}
	}
}

// A text that is no image may have any name.
func TestNamesOfOtherFilesMayBeOfAnyEncoding(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/1.jpg", "b/1.jpg", "b/caf\xe9.txt"} {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, []byte("image"), 0o644))
	}
	if m, err := OpenImages(t.Context(), dir); err != nil || m.Len() != 2 {
		t.Error(err)
	}
}
