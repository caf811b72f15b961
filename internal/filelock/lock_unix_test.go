//go:build unix && !solaris && !aix

package filelock

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hgld/internal/testing/must"
)

// A process between fork and exec shares the open file of a lock, as a duplicated descriptor does.
func TestLockIsFreeWhileAnotherDescriptorIsOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l := must.Get(Acquire(path))(t)
	fd := must.Get(unix.Dup(int(l.f.Fd())))(t)
	defer unix.Close(fd)
	must.Do(t, l.Close())
	again := must.Get(Acquire(path))(t)
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestErrorOfLockingNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "edits.jsonl")
	f := must.Get(os.Create(path))(t)
	must.Do(t, f.Close())
	for what, err := range map[string]error{"Take": Take(f), "Release": Release(f)} {
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s of a closed file: %v, want an error with its name", what, err)
		}
	}
}
