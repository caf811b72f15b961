package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
)

// The exit codes of hgld, documented in docs/exit-codes.md.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2   // usage or configuration
	exitSomeFailed  = 3   // finished, some items failed; they are listed
	exitIntegrity   = 4   // a check of files found damage
	exitTemporary   = 5   // network: run again
	exitNoGPU       = 6   // a GPU was asked for and none is usable
	exitNoProject   = 10  // no hgld.yaml here
	exitLocked      = 11  // another process works on this; its pid is shown
	exitDiskFull    = 12  // disk full, state safe
	exitInterrupted = 130 // stopped by a signal, state saved
)

// codedError is an error with an exit code and, where one is known, the next
// step to take.
type codedError struct {
	code int
	err  error
	hint string
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// withCode gives err an exit code; nil stays nil.
func withCode(code int, err error) error {
	if err == nil {
		return nil
	}
	return &codedError{code: code, err: err}
}

// withHint gives err a next step, printed on a line of its own.
func withHint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	code := exitFailed
	var coded *codedError
	if errors.As(err, &coded) {
		code = coded.code
	}
	return &codedError{code: code, err: err, hint: fmt.Sprintf(format, args...)}
}

// usagef is an error in how hgld was called or configured.
func usagef(format string, args ...any) error {
	return withCode(exitUsage, fmt.Errorf(format, args...))
}

// exitCode finds the code that an error ends the process with.
func exitCode(err error) int {
	var coded *codedError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, syscall.ENOSPC):
		return exitDiskFull
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailed
}

// reportError prints an error for a person and returns the exit code.
func reportError(err error, stderr io.Writer) int {
	code := exitCode(err)
	if err == nil {
		return code
	}
	switch {
	case code == exitInterrupted && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "hgld: stopped, state saved; the same command continues")
	case code == exitDiskFull:
		fmt.Fprintf(stderr, "hgld: %v\n  the disk is full; finished files are safe: free some space and run the same command again\n", err)
	default:
		fmt.Fprintf(stderr, "hgld: %v\n", err)
	}
	var coded *codedError
	if errors.As(err, &coded) && coded.hint != "" {
		fmt.Fprintf(stderr, "  %s\n", coded.hint)
	}
	return code
}
