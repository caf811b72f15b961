//go:build unix && !solaris && !aix

package filelock

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A process between fork and exec shares the open file of a lock, as a duplicated descriptor does.
func TestLockIsFreeWhileAnotherDescriptorIsOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Dup(int(l.f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestErrorOfLockingNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "edits.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"Take": Take(f), "Release": Release(f)} {
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s of a closed file: %v, want an error with its name", what, err)
		}
	}
}
