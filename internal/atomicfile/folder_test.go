package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
)

func TestFoldersAreMadeWithTheirParents(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"a", "a", "b/c/d", "b/c/d/", "e//f", "./g", "h/../i",
		filepath.Join(t.TempDir(), "x", "y")} {
		must.Do(t, MkdirAll(path, 0o755))
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			t.Errorf("%s is no folder: %v", path, err)
		}
	}
	if err := Mkdir("a", 0o755); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Mkdir of what is there: %v", err)
	}
	if err := Mkdir("no/folder", 0o755); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Mkdir without a parent: %v", err)
	}
	must.Do(t, os.WriteFile("file", nil, 0o644))
	for _, path := range []string{"file", "file/below", "file/below/that"} {
		if err := MkdirAll(path, 0o755); err == nil {
			t.Errorf("%s was made through a file", path)
		}
	}
}

func TestParentHoldsTheFolder(t *testing.T) {
	for path, want := range map[string]string{"a": ".", "a/": ".", "a/b": "a", "a//b/": "a", "/a": "/", "/": "/",
		"link/../a": "link/.."} {
		if got := parent(filepath.FromSlash(path)); got != filepath.FromSlash(want) {
			t.Errorf("the parent of %s is %s, want %s", path, got, want)
		}
	}
}
