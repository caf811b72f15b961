//go:build unix

package main

import (
	"context"
	"io"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

// hangUp sends the process the signal of a terminal that has gone.
func hangUp(t *testing.T) {
	t.Helper()
	must.Do(t, syscall.Kill(syscall.Getpid(), syscall.SIGHUP))
}

func TestHangupSavesAndStops(t *testing.T) {
	ctx, _, end := interruptible(io.Discard)
	defer end()
	hangUp(t)
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("the command goes on")
	}
	hangUp(t) // of the shell: the process is still saving
	time.Sleep(50 * time.Millisecond)
}

// A scheduler and a trap in the batch script send SIGTERM and SIGUSR1 once each, in any order. Any of them that ended
// the process would end this test.
func TestOnlyASecondInterruptStopsAtOnce(t *testing.T) {
	ctx, _, end := interruptible(io.Discard)
	defer end()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGINT} {
		must.Do(t, syscall.Kill(syscall.Getpid(), s))
		time.Sleep(repeats + 20*time.Millisecond)
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Error("the command goes on")
	}
}

func TestHangupIsIgnoredUnderNohup(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer heedHangups() // Reset alone leaves it ignored
	ctx, _, end := interruptible(io.Discard)
	defer end()
	hangUp(t)
	wait, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	<-wait.Done()
	if ctx.Err() != nil {
		t.Error("the command ends with its terminal")
	}
}
