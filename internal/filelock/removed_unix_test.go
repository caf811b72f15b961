//go:build unix

package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
)

// The owner may remove the file after another process opened it and before that locks it. This
// cannot happen on a system that cannot remove open files.
func TestRemovedFileIsNotLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	owner := must.Get(Acquire(path))(t)
	late := must.Get(os.OpenFile(path, os.O_RDWR, 0))(t)
	defer late.Close()
	must.Do(t, owner.Remove())
	if ours, err := take(late); err != nil || ours != nil {
		t.Errorf("a removed file was taken as the lock (%v)", err)
	}
	next := must.Get(Acquire(path))(t)
	defer next.Close()
	again := must.Get(os.OpenFile(path, os.O_RDWR, 0))(t)
	defer again.Close()
	var locked *LockedError
	if _, err := take(again); !errors.As(err, &locked) {
		t.Errorf("error = %v, want a *LockedError", err)
	}
}

func TestHeldReportsARemovedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l := must.Get(Acquire(path))(t)
	defer l.Close()
	check := func(when string, want bool) {
		t.Helper()
		if held, err := l.Held(); err != nil || held != want {
			t.Errorf("%s: held %v, %v; want %v", when, held, err, want)
		}
	}
	check("at first", true)
	must.Do(t, os.Rename(path, path+".away"))
	check("moved away", false)
	other := must.Get(Acquire(path))(t)
	check("another one in its place", false)
	must.Do(t, other.Remove())
	must.Do(t, os.Rename(path+".away", path))
	check("put back", true)
}
