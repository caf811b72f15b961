//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// stopSignals lists the signals that end a command with its state saved. A process started
// by nohup must outlive its terminal.
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
