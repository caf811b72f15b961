package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// farAway is the upper half of the offset of the locked byte, 2^62. Windows prevents others from
// reading what is locked, and they need to read the pid or the file.
const farAway = 1 << 30

// tryLock locks a byte far beyond the end of the file.
func tryLock(f *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: farAway})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// unlock releases the lock at once, because closing the file may do it later.
func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{OffsetHigh: farAway})
}
