// Package filelock keeps two processes out of the same folder or file. A lock is an advisory lock
// on a separate file that contains the owner's process id. It ends with the process, however that
// ends.
//
// Anybody may remove a lock file, and then a second process can lock a new one. A file that must
// never have two owners is therefore itself locked with Take, and its owner calls Held before it
// relies on the lock file.
package filelock

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// LockedError reports that another process holds a lock.
type LockedError struct {
	Path string // of the lock file
	PID  int    // 0 if it could not be read
}

// Error names the lock and the process that holds it.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return e.Path + " is locked by another process"
	}
	return fmt.Sprintf("%s is locked by process %d", e.Path, e.PID)
}

// Lock is a held lock.
type Lock struct{ f *os.File }

// lockMode is the mode of lock files. Whoever can open a lock file, even only for reading, can lock
// it.
const lockMode fs.FileMode = 0o600

// Acquire locks the file at path and writes our process id to it. If another process holds the
// lock, the error is a *LockedError.
func Acquire(path string) (*Lock, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, lockMode)
		if err != nil {
			return nil, err
		}
		ours, err := take(f)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if ours {
			return &Lock{f}, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}

// take locks an open lock file and writes our process id to it. It returns false if the last owner
// removed the file after we opened it. A lock on that file would exclude nobody, because the next
// process creates a new file.
func take(f *os.File) (bool, error) {
	free, err := tryLock(f)
	if err != nil {
		return false, &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	if !free {
		return false, &LockedError{Path: f.Name(), PID: owner(f)}
	}
	if named, err := Named(f, f.Name()); err != nil || !named {
		return false, err
	}
	if other, err := foreign(f); err != nil || other {
		return false, errors.Join(err, &fs.PathError{Op: "lock", Path: f.Name(), Err: errForeign})
	}
	if err := f.Truncate(0); err != nil {
		return false, err
	}
	_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err == nil, err
}

// errForeign is the error for a file that holds something other than a process id.
var errForeign = errors.New("exists and is not a lock file: move it away")

// foreign reports whether a file holds anything but a process id, which a power cut may have torn.
func foreign(f *os.File) (bool, error) {
	text := make([]byte, 33)
	n, err := f.ReadAt(text, 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	return n == len(text) || strings.Trim(string(text[:n]), "0123456789\n\x00") != "", nil
}

// owner returns the process id in a lock file, or 0 if its owner has not written it.
func owner(f *os.File) int {
	text := make([]byte, 32)
	n, err := f.ReadAt(text, 0)
	if err != nil && err != io.EOF {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return 0
	}
	return pid
}

// Held reports whether the lock file still has its name. If it was removed or replaced, another
// process can lock a new one.
func (l *Lock) Held() (bool, error) { return Named(l.f, l.f.Name()) }

// Named reports whether path names the open file f. It is not an error if path does not exist.
func Named(f *os.File, path string) (bool, error) {
	held, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(held, named), err
}

// Take locks an open file without writing to it. If another process holds the lock, the error is a
// *LockedError. Release releases the lock, and so does the end of the process.
func Take(f *os.File) error {
	free, err := tryLock(f)
	switch {
	case err != nil:
		return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	case !free:
		return &LockedError{Path: f.Name()}
	}
	return nil
}

// Release releases a lock of Take. The file stays open.
func Release(f *os.File) error {
	if err := unlock(f); err != nil {
		return &fs.PathError{Op: "unlock", Path: f.Name(), Err: err}
	}
	return nil
}

// Close releases the lock and keeps the file.
func (l *Lock) Close() error { return errors.Join(Release(l.f), l.f.Close()) }

// Remove removes the file and releases the lock. If the system cannot remove an open file, it
// releases the lock first.
func (l *Lock) Remove() error {
	if os.Remove(l.f.Name()) == nil {
		return l.Close()
	}
	if err := l.Close(); err != nil {
		return err
	}
	return os.Remove(l.f.Name())
}
