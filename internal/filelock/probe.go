package filelock

import (
	"errors"
	"os"
)

// Support is what the file system of a folder offers.
type Support int

// The kinds of support.
const (
	Locks     Support = iota // a lock excludes other processes
	Leases                   // locks fail, and leases take their place
	Unguarded                // locks succeed, but exclude nobody
)

// Probe finds out what locks a folder has. It creates a file there and removes it.
func Probe(dir string) (s Support, err error) {
	f, err := os.CreateTemp(dir, ".hgld-lock-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	free, err := tryLock(f)
	if unsupported(err) {
		return Leases, nil
	}
	if err != nil || !free {
		return 0, err
	}
	defer unlock(f)
	second, err := os.OpenFile(f.Name(), os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer second.Close()
	if free, err := tryLock(second); err != nil || free {
		return Unguarded, err
	}
	return Locks, nil
}
