// Package filelock keeps two processes out of the same folder or file. A lock is an advisory lock
// on a separate file that names the owner. It ends with the process, however that ends. Where the file system has no
// locks, it is a lease, which its owner renews: see lease.go.
//
// Anybody may remove a lock file, and then a second process can lock a new one. A file that must
// never have two owners is therefore itself locked with Take, and its owner calls Held before it
// relies on the lock file.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// LockedError reports that another process holds a lock.
type LockedError struct {
	Path  string        // of the lock file
	PID   int           // 0 if it could not be read
	By    Owner         // the process, as far as it is known
	Lease time.Duration // time until the lock ends unless the process renews it; 0 for a lock that ends with its process
}

// Error names the lock and the process that holds it.
func (e *LockedError) Error() string {
	by := e.By
	by.PID = e.PID
	text := fmt.Sprintf("%s is locked by %s", e.Path, by)
	if e.Lease > 0 {
		text += fmt.Sprintf("; if that has died, its lock ends in %d s", int(e.Lease.Seconds())+1)
	}
	return text
}

// Lock is a held lock.
type Lock struct {
	f     *os.File
	lease *lease // nil if f itself is locked
}

// lockMode is the mode of lock files. Whoever can open a lock file, even only for reading, can lock
// it.
const lockMode fs.FileMode = 0o600

// Acquire locks the file at path and writes the name of this process to it. If another process holds the
// lock, the error is a *LockedError. On a file system without locks, a lease takes the place of the lock.
func Acquire(path string) (*Lock, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, lockMode)
		if err != nil {
			return nil, err
		}
		l, err := take(f)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if l != nil {
			return l, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}

// AcquireOrWait is Acquire, but where a lease may be left of a process that has died, it waits until the lease is
// renewed, which means that its process is alive, or expires.
func AcquireOrWait(ctx context.Context, path string) (*Lock, error) {
	var first *LockedError
	for {
		l, err := Acquire(path)
		var locked *LockedError
		if !errors.As(err, &locked) || locked.Lease == 0 || first != nil && locked.Lease > first.Lease {
			return l, err
		}
		first = locked
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(locked.Lease, leaseTimes.renew/10) + time.Millisecond):
		}
	}
}

// Check returns a *LockedError if a process has acquired the lock at path. It creates the file if it is missing. Any
// number of processes can check at once, without one being in the way of another.
func Check(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, lockMode)
	if err != nil {
		return err
	}
	defer f.Close()
	free, err := tryShare(f)
	switch {
	case unsupported(err):
		return checkLease(path)
	case err != nil:
		return &fs.PathError{Op: "lock", Path: path, Err: err}
	case !free:
		o, _, _ := readOwner(f)
		return lockedBy(path, o)
	}
	return unlock(f)
}

// checkLease returns a *LockedError if a process holds the lease of path.
func checkLease(path string) error {
	number, err := newestLease(path)
	if err != nil || number == 0 {
		return err
	}
	if err := expired(path, leaseName(path, number)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil // released just now
}

// take locks an open lock file and writes the name of this process to it. It returns nil if the last owner
// removed the file after we opened it. A lock on that file would exclude nobody, because the next
// process creates a new file.
func take(f *os.File) (*Lock, error) {
	l := &Lock{f: f}
	free, err := tryLock(f)
	switch {
	case unsupported(err):
		if l.lease, err = takeLease(f.Name()); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	case !free:
		o, _, _ := readOwner(f)
		return nil, lockedBy(f.Name(), o)
	}
	ours, err := l.sign()
	if err == nil && ours {
		return l, nil
	}
	if l.lease != nil {
		err = errors.Join(err, l.lease.release())
	}
	return nil, err
}

// sign writes the name of this process to the locked file. It returns false if the file has lost its name.
func (l *Lock) sign() (bool, error) {
	if named, err := Named(l.f, l.f.Name()); err != nil || !named {
		return false, err
	}
	if _, ours, err := readOwner(l.f); err != nil || !ours {
		return false, errors.Join(err, &fs.PathError{Op: "lock", Path: l.f.Name(), Err: errForeign})
	}
	if err := l.f.Truncate(0); err != nil {
		return false, err
	}
	_, err := l.f.WriteAt(Self().text(), 0)
	return err == nil, err
}

// errForeign is the error for a file that holds something other than the name of a process.
var errForeign = errors.New("exists and is not a lock file: move it away")

// Held reports whether the lock file still has its name. If it was removed or replaced, another
// process can lock a new one. A lease is no longer held if it expired while this process was suspended.
func (l *Lock) Held() (bool, error) {
	if l.lease != nil && !l.lease.held() {
		return false, nil
	}
	return Named(l.f, l.f.Name())
}

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

// leases are those of files that were locked with Take.
var leases sync.Map // *os.File → *lease

// Take locks an open file without writing to it. If another process holds the lock, the error is a
// *LockedError. Release releases the lock, and so does the end of the process. On a file system without locks,
// a lease takes the place of the lock.
func Take(f *os.File) error {
	err := TakeItself(f)
	if !unsupported(err) {
		return err
	}
	l, err := takeLease(f.Name())
	if err != nil {
		return err
	}
	leases.Store(f, l)
	return nil
}

// TakeItself is Take without a lease: on a file system without locks, it fails.
func TakeItself(f *os.File) error {
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
	if l, ok := leases.LoadAndDelete(f); ok {
		return l.(*lease).release()
	}
	if err := unlock(f); err != nil {
		return &fs.PathError{Op: "unlock", Path: f.Name(), Err: err}
	}
	return nil
}

// Close releases the lock and keeps the file.
func (l *Lock) Close() error {
	if l.lease != nil {
		return errors.Join(l.lease.release(), l.f.Close())
	}
	return errors.Join(Release(l.f), l.f.Close())
}

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
