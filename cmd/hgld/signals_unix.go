//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// stopSignals lists the signals that stop a command after it saved its state. It omits
// SIGHUP if that is ignored, because a process started by nohup must outlive its terminal.
func stopSignals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// brokenPipes receives every SIGPIPE. Nobody reads it: as long as the signal is wanted, the runtime
// does not end the process by it.
var brokenPipes = make(chan os.Signal, 1)

func ignoreBrokenPipes() { signal.Notify(brokenPipes, syscall.SIGPIPE) }
