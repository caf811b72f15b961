//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package curate

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// lockFile takes the lock that path stands for and writes this process's number
// into it. The lock ends with the process, however that ends; the file stays.
func lockFile(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &os.PathError{Op: "lock", Path: path, Err: err}
		}
		return nil, &LockedError{Path: path, PID: holder(f)}
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// holder reads the number of the process that has the lock, 0 if it has not
// written it yet.
func holder(f *os.File) int {
	var text [32]byte
	n, _ := f.ReadAt(text[:], 0) // fewer bytes than asked for is the usual case
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return 0
	}
	return pid
}
