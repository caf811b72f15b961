//go:build !unix

package main

import (
	"errors"
	"os"
	"syscall"
)

func stopSignals() []os.Signal { return []os.Signal{os.Interrupt} }

// The errors of Windows for a disk without room.
const (
	errorHandleDiskFull syscall.Errno = 39
	errorDiskFull       syscall.Errno = 112
	errorWriteProtect   syscall.Errno = 19
)

// diskTrouble says why a disk takes no more, "" where an error is of another kind.
func diskTrouble(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, errorDiskFull), errors.Is(err, errorHandleDiskFull):
		return "the disk is full"
	case errors.Is(err, errorWriteProtect):
		return "the disk is read-only"
	}
	return ""
}
