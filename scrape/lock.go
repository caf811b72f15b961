package scrape

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// LockedError says that another process works in a state folder.
type LockedError struct {
	Path string
	PID  int // 0 if it could not be read
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("%s is locked by process %d", e.Path, e.PID)
}

// acquire takes the lock file at path and writes our pid into it. The lock is
// given back by closing the file, also by the end of the process, however it
// ends; the file itself stays.
func acquire(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	free, err := tryLock(f)
	if err == nil && !free {
		err = &LockedError{Path: path, PID: readPID(f)}
	}
	if err == nil {
		err = writePID(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func readPID(f *os.File) int {
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

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}
