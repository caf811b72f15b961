//go:build !unix

package exitcode

import (
	"errors"
	"syscall"
)

// Windows' errors for a full or write-protected disk.
const (
	errorHandleDiskFull syscall.Errno = 39
	errorDiskFull       syscall.Errno = 112
	errorWriteProtect   syscall.Errno = 19
)

// DiskTrouble returns why the disk accepts no more data, or "" for other errors.
func DiskTrouble(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, errorDiskFull), errors.Is(err, errorHandleDiskFull):
		return "the disk is full"
	case errors.Is(err, errorWriteProtect):
		return "the disk is read-only"
	}
	return ""
}
