//go:build unix

package shards

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"hgld/internal/testing/must"
)

// TestUnreadableFolderIsAnError replaces a folder by a link to itself, which root cannot list
// either.
func TestUnreadableFolderIsAnError(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Symlink("data", filepath.Join(dir, "data")))
	if was, err := countSidecarRows(disk(dir)); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("%+v is to be replaced, error %v, want one of data", was, err)
	}
	if err := endSlices(t.Context(), disk(filepath.Join(dir, "data"))); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("error %v, want one: a slice may be at work", err)
	}
	if !disk(dir).mayExist("data") {
		t.Error("what nobody could look at is taken for absent")
	}
}
