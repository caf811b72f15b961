//go:build unix

package main

import (
	"context"
	"io"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// hangUp sends the process the signal of a terminal that has gone.
func hangUp(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
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
