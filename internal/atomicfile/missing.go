package atomicfile

import (
	"errors"
	"io/fs"
	"syscall"
)

// IsMissing reports whether an error means that a path does not exist: the name is missing, or
// a parent is a file. Any other error says nothing of what is there.
func IsMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
