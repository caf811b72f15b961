package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// interruptible returns a context that is cancelled by the first SIGINT, SIGTERM, SIGUSR1
// or SIGHUP. The running command then finishes its current unit, saves and stops. Compute
// clusters announce preemption with one of these signals. A second signal ends the process
// at once, unless it is a SIGHUP.
func interruptible(stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals()...)
	go func() {
		s, ok := <-signals
		if !ok {
			return
		}
		fmt.Fprintf(stderr, "hgld: %v: finishing this unit and saving; a second signal stops at once\n", s)
		cancel()
		for s := range signals {
			if !isHangup(s) {
				os.Exit(exitInterrupted)
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}
