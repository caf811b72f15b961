package curate

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/windows"
)

// lockFile takes the lock that path stands for and writes this process's number
// into it. The lock ends with the process, however that ends; the file stays. It
// covers a byte far behind the number, which others can therefore read.
func lockFile(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	at := windows.Overlapped{OffsetHigh: 1}
	if err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &at); err != nil {
		defer f.Close()
		if !errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
			return nil, &os.PathError{Op: "lock", Path: path, Err: err}
		}
		text, _ := os.ReadFile(path) // unreadable: no number to show
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return nil, &LockedError{Path: path, PID: pid}
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\r\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
