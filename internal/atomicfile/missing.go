package atomicfile

import (
	"errors"
	"io/fs"
	"syscall"
)

// IsMissing reports whether an error means that a path does not exist: either its name is missing,
// or a parent is a file. After any other error, the path may exist.
func IsMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// IsUnreadable reports whether an error is one of the system, after which the path may exist and be sound:
// another attempt may read it.
func IsUnreadable(err error) bool { return errors.As(err, new(syscall.Errno)) && !IsMissing(err) }
