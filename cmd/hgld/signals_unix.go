//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"
)

var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1}

// diskTrouble says why a disk takes no more, "" where an error is of another kind.
func diskTrouble(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return "the disk is full"
	case errors.Is(err, syscall.EDQUOT):
		return "the disk quota is used up"
	case errors.Is(err, syscall.EROFS):
		return "the disk is read-only"
	}
	return ""
}
