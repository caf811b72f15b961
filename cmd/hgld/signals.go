package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// interruptible returns a context that the first SIGINT, SIGTERM, SIGUSR1
// or SIGHUP cancels: the running command finishes its unit, saves and stops.
// (Clusters announce a preemption with one of them.) The second signal ends the
// process at once.
func interruptible(stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals()...)
	go func() {
		s, ok := <-signals
		if !ok {
			return
		}
		fmt.Fprintf(stderr, "hgld: %v: finishing this unit and saving; once more stops now\n", s)
		cancel()
		if _, ok := <-signals; ok {
			os.Exit(exitInterrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}
