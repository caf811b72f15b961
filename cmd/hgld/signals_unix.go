//go:build unix

package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// stopSignals are what ends a command with its state saved. A process that nohup has
// started is not to end with its terminal.
func stopSignals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// isHangup reports whether a signal says that the terminal has gone. It comes twice
// where both the system and the shell say so.
func isHangup(s os.Signal) bool { return s == syscall.SIGHUP }

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
