// Package filelock keeps two processes out of one folder or file. A lock is an
// advisory lock on a file of its own that holds the owner's process id; it ends
// with the process, however that ends.
package filelock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// LockedError says that another process holds a lock.
type LockedError struct {
	Path string
	PID  int // 0 if it could not be read
}

// Error names the lock and the process that holds it.
func (e *LockedError) Error() string {
	return fmt.Sprintf("%s is locked by process %d", e.Path, e.PID)
}

// Lock is a held lock.
type Lock struct{ f *os.File }

// Acquire takes the lock file at path and writes our process id into it. If
// another process has it, the error is a *LockedError.
func Acquire(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	free, err := tryLock(f)
	if err == nil && !free {
		err = &LockedError{Path: path, PID: owner(f)}
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Lock{f}, nil
}

// owner reads the process id in a lock file, 0 if its owner has not written it.
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

// Close gives the lock back; the file stays.
func (l *Lock) Close() error { return errors.Join(unlock(l.f), l.f.Close()) }

// Remove takes the file away and gives the lock back. Where the system cannot
// remove an open file, the lock is given back first.
func (l *Lock) Remove() error {
	if os.Remove(l.f.Name()) == nil {
		return l.Close()
	}
	if err := l.Close(); err != nil {
		return err
	}
	return os.Remove(l.f.Name())
}
