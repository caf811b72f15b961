//go:build unix

package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// The owner may remove the file after another process opened it and before that locks it. This
// cannot happen on a system that cannot remove open files.
func TestRemovedFileIsNotLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	owner, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	late, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if err := owner.Remove(); err != nil {
		t.Fatal(err)
	}
	if ours, err := take(late); err != nil || ours != nil {
		t.Errorf("a removed file was taken as the lock (%v)", err)
	}
	next, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	again, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	var locked *LockedError
	if _, err := take(again); !errors.As(err, &locked) {
		t.Errorf("error = %v, want a *LockedError", err)
	}
}

func TestHeldReportsARemovedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	check := func(when string, want bool) {
		t.Helper()
		if held, err := l.Held(); err != nil || held != want {
			t.Errorf("%s: held %v, %v; want %v", when, held, err, want)
		}
	}
	check("at first", true)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	check("moved away", false)
	other, err := Acquire(path)
	if err != nil {
		t.Fatal(err)
	}
	check("another one in its place", false)
	if err := other.Remove(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	check("put back", true)
}
