//go:build unix

package dataset

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hgld/internal/testing/must"
	"hgld/shards"
)

func TestSplitWhoseFolderCannotBeReadHasNoMissingImages(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Symlink("train", filepath.Join(dir, "train")))
	if err := (&tarSet{name: dir}).index(t.Context(), "train"); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("error %v, want one of the folder train", err)
	}
}

// heals is a store with a file that cannot be examined at first, but can be opened later.
type heals struct{ store }

func (heals) find(string) (entry, error) { return entry{}, fs.ErrPermission }

func (heals) open(string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("image")), nil
}

func TestImageThatReappearsDuringABuildStopsIt(t *testing.T) {
	item := &shards.Item{Path: "a.jpg", Where: "images.csv:2"}
	if _, err := attach(item, heals{}, "a.jpg"); err != nil {
		t.Fatal(err)
	}
	var stop *shards.ReadError
	if _, err := item.Open(); !errors.As(err, &stop) || !strings.Contains(err.Error(), "a.jpg") {
		t.Errorf("error %v, want a ReadError of a.jpg: its size is not in the plan", err)
	}
}
