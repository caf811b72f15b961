package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"hgld/internal/crash"
)

// repeats is how long after the first signal another one counts as the same. timeout(1) sends every
// signal twice, to the process and to its group.
const repeats = 200 * time.Millisecond

// interruptible returns a context that is cancelled by the first SIGINT, SIGTERM, SIGUSR1, SIGUSR2
// or SIGHUP. The running command then finishes its current unit, saves and stops. Compute
// clusters announce preemption with one of these signals, and often send it to the command twice: by
// themselves, and by a trap of the batch script. Therefore only a second SIGINT, which comes from a
// keyboard, ends the process at once. Neither waits for stderr, whose reader may have gone or stopped.
//
// announced waits for the message about the first signal, if there was one.
//
// From the first call on, a write to stdout or stderr without a reader returns an error instead of
// ending the process.
func interruptible(stderr io.Writer) (ctx context.Context, announced, stop func()) {
	ignoreBrokenPipes()
	ctx, cancel := context.WithCancel(context.Background())
	said, signals := make(chan struct{}), make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals()...)
	go func() {
		defer crash.Guard()
		s, ok := <-signals
		if !ok {
			return
		}
		cancel()
		first := time.Now() // of the signals that count as one ctrl-C
		go func() {
			defer crash.Guard()
			defer close(said)
			fmt.Fprintf(stderr, "hgld: %v: finishing this unit and saving; a second ctrl-C stops at once\n", s)
		}()
		pressed := s == os.Interrupt
		for s := range signals {
			if s != os.Interrupt {
				continue
			}
			if pressed && time.Since(first) > repeats {
				os.Exit(exitInterrupted)
			}
			if !pressed {
				pressed, first = true, time.Now()
			}
		}
	}()
	announced = func() {
		if ctx.Err() != nil {
			<-said
		}
	}
	return ctx, announced, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}
