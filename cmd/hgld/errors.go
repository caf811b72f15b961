package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"hgld/cluster"
	"hgld/internal/exitcode"
	"hgld/internal/terminal"
	"hgld/train/device"
)

// Short names for the exit codes.
const (
	exitOK          = exitcode.OK
	exitFailed      = exitcode.Failed
	exitUsage       = exitcode.Usage
	exitSomeFailed  = exitcode.SomeFailed
	exitIntegrity   = exitcode.Integrity
	exitTemporary   = exitcode.Temporary
	exitNoGPU       = exitcode.NoDevice
	exitNoProject   = exitcode.NoProject
	exitLocked      = exitcode.Locked
	exitDiskFull    = exitcode.DiskFull
	exitInterrupted = exitcode.Interrupted
)

// withCode is [exitcode.With].
func withCode(code int, err error) error { return exitcode.With(code, err) }

// withHint is [exitcode.Hint].
func withHint(err error, format string, args ...any) error {
	return exitcode.Hint(err, format, args...)
}

// exitCode is [exitcode.Of].
func exitCode(err error) int { return exitcode.Of(err) }

// usagef returns an error with the exit code of wrong usage or configuration.
func usagef(format string, args ...any) error {
	return withCode(exitUsage, fmt.Errorf(format, args...))
}

// hints lists the next steps for an error. It adds hints to errors that packages return
// without any.
func hints(err error) []string {
	list := exitcode.Hints(err)
	var memory *device.OutOfMemory
	if errors.As(err, &memory) {
		list = append(list, "use a smaller -o sampler.batch, or compute the same batch in chunks: "+
			"-o passes.chunk=32; --dry-run prints how much memory a training needs")
	}
	if errors.As(err, new(*cluster.MissingTextsError)) {
		list = append(list, "hgld embed --print-texts lists what to encode; --prompt sets the sentence around a tag")
	}
	return list
}

// reportError prints an error for a person and returns the exit code.
func reportError(err error, stderr io.Writer) int {
	code := exitCode(err)
	if err == nil {
		return code
	}
	text := terminal.Visible(terminal.Bounded(err.Error()))
	switch {
	case code == exitInterrupted && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "hgld: stopped, state saved; the same command continues")
	case code == exitDiskFull:
		fmt.Fprintf(stderr, "hgld: %s\n  %s; finished files are safe: free some space and run the same command again\n",
			text, exitcode.DiskTrouble(err))
	default:
		fmt.Fprintf(stderr, "hgld: %s\n", text)
	}
	for _, hint := range hints(err) {
		fmt.Fprintf(stderr, "  %s\n", terminal.Visible(terminal.Bounded(hint)))
	}
	return code
}
