package filelock

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"hgld/internal/crash"
	"hgld/internal/regular"
)

// A lease replaces a lock on file systems without locks: NFS without a lock daemon, Lustre without -o flock, and
// some of FUSE. It is a file beside the lock file, which only one process can create:
//
//	PATH.lease-1
//
// Its owner renews it, that is, writes it again from time to time. A lease that was not renewed for a while has
// expired, because its process or its machine has died. Who takes over a lease creates the file of the next number
// before it removes the expired one, so that two processes cannot take over the same one.
//
// A process that was suspended for longer than a lease lasts loses it, and learns this when it goes on: see Lock.Held.
type lease struct {
	path string // of the lease file
	text []byte

	end  chan struct{} // closed to stop the renewal
	done chan struct{} // closed when it has stopped

	once sync.Once
	mu   sync.Mutex
	lost bool
}

// leaseTimes are how often a lease is renewed, and how long it lasts without.
var leaseTimes = struct{ renew, last time.Duration }{10 * time.Second, time.Minute}

// takeLease takes the lease of path, or returns a *LockedError.
func takeLease(path string) (*lease, error) {
	for {
		number, err := newestLease(path)
		if err != nil {
			return nil, err
		}
		if number > 0 {
			if err := expired(path, leaseName(path, number)); errors.Is(err, fs.ErrNotExist) {
				continue // released just now
			} else if err != nil {
				return nil, err
			}
		}
		l := &lease{path: leaseName(path, number+1), end: make(chan struct{}), done: make(chan struct{})}
		l.text = append(Self().text(), fmt.Sprintf("%016x\n", rand.Uint64())...) // no two leases have the same text
		f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, lockMode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := l.write(f); err != nil {
			return nil, errors.Join(err, os.Remove(l.path))
		}
		// Another process may have taken over our number and given it back while we looked.
		if newest, err := newestLease(path); err != nil || newest > number+1 {
			if err := errors.Join(err, os.Remove(l.path)); err != nil {
				return nil, err
			}
			continue
		}
		for n := number; n > 0 && os.Remove(leaseName(path, n)) == nil; n-- {
		}
		go func() {
			defer crash.Guard()
			l.renew()
		}()
		return l, nil
	}
}

func leaseName(path string, number int) string { return path + leaseSuffix + strconv.Itoa(number) }

const leaseSuffix = ".lease-"

// newestLease returns the greatest number of the leases of path, or 0 if there are none.
func newestLease(path string) (newest int, err error) {
	dir, base := parts(path)
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if number, ok := strings.CutPrefix(e.Name(), base+leaseSuffix); ok {
			if n, err := strconv.Atoi(number); err == nil {
				newest = max(newest, n)
			}
		}
	}
	return newest, err
}

// expired returns a *LockedError unless the lease file of path is expired, or its owner is a process of this machine
// that has ended.
func expired(path, file string) error {
	f, err := regular.Open(file) // NFS asks the server for the time of a file when it is opened
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	text := make([]byte, maxOwner)
	n, _ := f.ReadAt(text, 0)
	line, _, _ := bytes.Cut(text[:n], []byte("\n"))
	o, _, err := readOwner(bytes.NewReader(line))
	if err != nil {
		return err
	}
	if !o.Alive() {
		return nil
	}
	now, err := now(path)
	if err != nil {
		return err
	}
	if age := now.Sub(info.ModTime()); age < leaseTimes.last {
		locked := lockedBy(path, o)
		locked.Lease = leaseTimes.last - age
		return locked
	}
	return nil
}

// now returns the time by the clock of the file system, which may be that of a server.
func now(path string) (time.Time, error) {
	dir, base := parts(path)
	f, err := os.CreateTemp(dir, base+".clock-")
	if err != nil {
		return time.Time{}, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.WriteString("."); err != nil {
		return time.Time{}, err
	}
	if err := f.Sync(); err != nil {
		return time.Time{}, err
	}
	info, err := f.Stat()
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// Age returns for how long a file has not been written, by the clock of its file system.
func Age(path string) (time.Duration, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	now, err := now(filepath.Join(filepath.Dir(path), ".hgld"))
	if err != nil {
		return 0, err
	}
	return now.Sub(info.ModTime()), nil
}

// write writes the lease to f and closes it.
func (l *lease) write(f *os.File) error {
	_, err := f.WriteAt(l.text, 0)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// renew writes the lease from time to time, until it is released or lost. A write that fails is tried again the next
// time.
func (l *lease) renew() {
	defer close(l.done)
	tick := time.NewTicker(leaseTimes.renew)
	defer tick.Stop()
	for {
		select {
		case <-l.end:
			return
		case <-tick.C:
		}
		if !l.held() {
			return
		}
		if f, err := os.OpenFile(l.path, os.O_WRONLY, 0); err == nil {
			l.write(f)
		}
	}
}

// held reports whether the lease is ours, or may be.
func (l *lease) held() bool {
	text, err := regular.ReadFile(l.path)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = l.lost || errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(text, l.text)
	return !l.lost
}

// release gives the lease back. It does nothing the second time.
func (l *lease) release() error {
	l.once.Do(func() { close(l.end) })
	<-l.done
	if !l.held() {
		return nil
	}
	return os.Remove(l.path)
}
