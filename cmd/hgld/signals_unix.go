//go:build unix

package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// stopSignals are the signals that end a command. SIGHUP, that of a terminal which is
// closed, is left alone where the process was started to ignore it, as by nohup. A
// shell starts what runs in the background so for SIGINT, which somebody sends on
// purpose.
func stopSignals() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

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
