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
func tryLock(f *os.File) (bool, error) { return try(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// tryShare takes a lock that others can share, and reports whether nobody had the file for himself.
func tryShare(f *os.File) (bool, error) { return try(f, 0) }

func try(f *os.File, how uint32) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: farAway})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// unsupported is false: LockFileEx fails on no file system that Windows lists as one with locks.
func unsupported(error) bool { return false }

// alive reports whether a process of this machine runs.
func alive(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return !errors.Is(err, windows.ERROR_INVALID_PARAMETER) // there is no such process
	}
	defer windows.CloseHandle(h)
	var code uint32
	const stillActive = 259
	return windows.GetExitCodeProcess(h, &code) != nil || code == stillActive
}

// unlock releases the lock at once, because closing the file may do it later.
func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{OffsetHigh: farAway})
}
