// Package remember keeps lists of lines between commands: what hgld has written, in a project or for its user, and what
// the user has allowed, which no project may decide.
package remember

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hgld/internal/atomicfile"
	"hgld/internal/filelock"
	"hgld/internal/regular"
)

// List is a file with a line for each thing to remember. Where its folder cannot be written, the list stays as it is.
type List struct{ path string }

// ForUser is a list outside of any project, which may come from somebody else: a file in the folder hgld of the user's
// configuration, $XDG_CONFIG_HOME or its equivalent. A user without a home has an empty list.
func ForUser(name string) List {
	home, err := os.UserConfigDir()
	if err != nil {
		return List{}
	}
	return List{filepath.Join(home, "hgld", name)}
}

// In is the list of a folder.
func In(dir, name string) List { return List{filepath.Join(dir, name)} }

// most is the size in bytes from which on a list loses its older half.
const most = 4 << 20

// Has reports whether the list has a line. A list that cannot be read has none.
func (l List) Has(line string) bool {
	lines, err := l.lines()
	return err == nil && slices.Contains(lines, line)
}

func (l List) lines() ([]string, error) {
	if l.path == "" {
		return nil, nil
	}
	text, err := regular.ReadFile(l.path)
	if atomicfile.IsMissing(err) {
		return nil, nil
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' }), err
}

var adding sync.Mutex

// Add adds a line, and returns when it is on disk. Processes that add at the same moment wait for one another.
func (l List) Add(line string) (err error) {
	adding.Lock()
	defer adding.Unlock()
	if l.path == "" || l.Has(line) {
		return nil
	}
	if err := atomicfile.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
		return unwritable(err)
	}
	lock, err := acquire(l.path + ".lock")
	if err != nil {
		return unwritable(err)
	}
	if lock != nil {
		defer func() { err = errors.Join(err, lock.Remove()) }()
	}
	lines, err := l.lines() // again, since another process may have added some
	if err != nil {
		return unwritable(err) // those that cannot be read must not be lost
	}
	text := strings.Join(append(lines, line), "\n") + "\n"
	if len(text) > most {
		text = text[len(text)/2:]
		_, text, _ = strings.Cut(text, "\n")
	}
	return unwritable(atomicfile.WriteFileMode(l.path, []byte(text), 0o600))
}

// patience is how long a line waits for another process to add its own. Then it is added without the lock: a line that
// is forgotten costs a question, and a process that hangs must not cost more.
const patience = 5 * time.Second

// acquire locks a file. It returns nil if another process does not release it.
func acquire(path string) (*filelock.Lock, error) {
	for until := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		lock, err := filelock.Acquire(path)
		if !errors.As(err, new(*filelock.LockedError)) {
			return lock, err
		}
		if time.Now().After(until) {
			return nil, nil
		}
	}
}

// unwritable drops an error of a folder that the user may not write, and of a place that is no folder. A full disk is
// an error.
func unwritable(err error) error {
	if errors.Is(err, fs.ErrPermission) || atomicfile.IsMissing(err) || errors.Is(err, errReadOnly) {
		return nil
	}
	return err
}
