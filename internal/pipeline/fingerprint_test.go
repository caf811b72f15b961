package pipeline

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
)

// printOf returns the fingerprint of a path that exists.
func printOf(t *testing.T, path string) string {
	t.Helper()
	p := must.Get(new(Pipeline).fingerprint(path))(t)
	return p
}

func TestFolderIsKnownByItsContents(t *testing.T) {
	dir := t.TempDir()
	testfile.Write(t, dir, "a/1.jpg", "one")
	testfile.Write(t, dir, "a/2.jpg", "two")
	was := printOf(t, dir)
	later := time.Now().Add(time.Hour)
	must.Do(t, os.Chtimes(filepath.Join(dir, "a", "1.jpg"), later, later))
	if printOf(t, dir) != was {
		t.Error("a copy with other times is another folder")
	}
	testfile.Write(t, dir, "a/1.jpg", "eno")
	if printOf(t, dir) == was {
		t.Error("a file of the same size with other contents goes unnoticed")
	}
	if err := os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, "dangling")); err != nil {
		return
	}
	printOf(t, dir) // a link to nothing looks like a file that vanishes while the folder is read
}

func TestFolderOfAKnownKindIsIdentifiedByItsManifest(t *testing.T) {
	dir := t.TempDir()
	testfile.Write(t, dir, "MANIFEST", "one\n")
	testfile.Write(t, dir, "data", "x")
	known := Folder{Manifest: "MANIFEST"}
	l := &Pipeline{Folder: func(string) (Folder, bool, error) { return known, true, nil }}
	print := func() string {
		t.Helper()
		prints, err := l.Fingerprint([]string{dir, ""})
		if err != nil || len(prints) != 1 {
			t.Fatal(prints, err)
		}
		return prints[dir]
	}
	was := print()
	testfile.Write(t, dir, "data", "y")
	if print() != was || was != printOf(t, filepath.Join(dir, "MANIFEST")) {
		t.Error("another file than the manifest counts")
	}
	known.Damage = "data is cut"
	if got := print(); got != "damaged: data is cut" {
		t.Errorf("damage is not told: %q", got)
	}
	known = Folder{Files: []string{"data"}}
	was = print()
	testfile.Write(t, dir, "MANIFEST", "two\n")
	if print() != was {
		t.Error("a file counts that is not among those of the folder")
	}
	testfile.Write(t, dir, "data", "z")
	if print() == was {
		t.Error("a file of the folder changes unnoticed")
	}
}

func TestPathThroughAFileIsMissing(t *testing.T) {
	dir := t.TempDir()
	testfile.Write(t, dir, "tags.jsonl", "")
	path := filepath.Join(dir, "tags.jsonl", "deeper")
	if list := Missing([]string{"", path, dir}); len(list) != 1 || list[0] != path {
		t.Errorf("missing: %q", list)
	}
	if prints, err := new(Pipeline).Fingerprint([]string{path}); err != nil || prints[path] != "" {
		t.Errorf("fingerprint %q, error %v", prints[path], err)
	}
}
