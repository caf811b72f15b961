//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package curate

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
)

// lockFile takes the lock by making the file that path stands for, with this
// process's number in it. Where the system has no lock that ends with its
// process, a crash leaves the file behind: remove it once that process is gone.
func lockFile(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		text, _ := os.ReadFile(path) // gone or unreadable: no number to show
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return nil, &LockedError{Path: path, PID: pid}
	}
	if err != nil {
		return nil, err
	}
	if _, err := f.WriteString(strconv.Itoa(os.Getpid()) + "\n"); err != nil {
		f.Close()
		os.Remove(path)
		return nil, err
	}
	return &ownFile{f, path}, nil
}

type ownFile struct {
	file *os.File
	path string
}

func (o *ownFile) Close() error { return errors.Join(o.file.Close(), os.Remove(o.path)) }
