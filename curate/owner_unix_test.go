//go:build unix

package curate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/filelock"
	"hgld/internal/testing/must"
)

// No acknowledged edit is lost if somebody removes the lock file of an open log, or the log.
func TestLogStaysLockedWithoutItsLockFile(t *testing.T) {
	path, _ := newLog(t, 1)
	first, _, err := OpenLog(path)
	must.Do(t, err)
	defer first.Close()
	must.Do(t, os.Remove(path+".lock"))
	var locked *filelock.LockedError
	if second, _, err := OpenLog(path); !errors.As(err, &locked) || locked.Path != path {
		if err == nil {
			second.Close()
		}
		t.Fatalf("a second opening: %v, want a LockedError", err)
	}
	if err := first.Append(testEdit(2)); err != nil {
		t.Fatalf("an edit after the lock file was removed: %v", err)
	}
	if _, _, err := OpenLog(path); !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("a third opening: %v, want a LockedError with our process id: the lock file is made again", err)
	}
	must.Do(t, os.Remove(path+".lock"))
	other, err := filelock.Acquire(path + ".lock") // an hgld that knows the lock file alone
	must.Do(t, err)
	if err := first.Append(testEdit(3)); !errors.As(err, &locked) {
		t.Errorf("an edit while another process has the lock file: %v", err)
	}
	must.Do(t, other.Close())
	if err := first.Append(testEdit(3)); err != nil {
		t.Error(err)
	}
	if c, err := ReadLog(path); err != nil || len(c.Edits) != 3 {
		t.Errorf("the log: %v", err)
	}
}

func TestAppendFailsIfTheLogWasReplaced(t *testing.T) {
	path, data := newLog(t, 1)
	l, _, err := OpenLog(path)
	must.Do(t, err)
	defer l.Close()
	refused := func(when, why string) {
		t.Helper()
		if err := l.Append(testEdit(2)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: error %v, want one that says %q", when, err, why)
		}
	}
	must.Do(t, os.Rename(path, path+".away"))
	refused("moved away", "move it back")
	must.Do(t, os.WriteFile(path, data, 0o600))
	refused("replaced", "replaced by another one")
	must.Do(t, os.Rename(path+".away", path))
	f := must.Get(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
	if _, err := f.WriteString("{}\n"); err != nil {
		t.Fatal(err)
	}
	must.Do(t, f.Close())
	refused("written to", "another program has changed the file")
	must.Do(t, os.Truncate(path, int64(len(data))))
	if err := l.Append(testEdit(2)); err != nil {
		t.Error(err)
	}
	if c, err := ReadLog(path); err != nil || len(c.Edits) != 2 {
		t.Errorf("the log: %v", err)
	}
}

// A new log can be read by its owner only. An existing log keeps the mode that its owner gave it.
func TestLogIsReadableByItsOwnerOnly(t *testing.T) {
	path, _ := newLog(t, 1)
	for _, name := range []string{path, path + ".lock"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != logMode {
			t.Errorf("%s has the mode %v (%v)", filepath.Base(name), info.Mode(), err)
		}
	}
	must.Do(t, os.Chmod(path, 0o640))
	l, _, err := OpenLog(path)
	must.Do(t, err)
	must.Do(t, errors.Join(l.Append(testEdit(2)), l.Close()))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the log has the mode %v, and its owner gave it 0640 (%v)", info.Mode(), err)
	}
}
