package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"hgld/train/device"
)

// The exit codes of hgld, documented in docs/exit-codes.md.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2   // usage or configuration
	exitSomeFailed  = 3   // finished, some items failed; they are listed
	exitIntegrity   = 4   // a check of files found damage
	exitTemporary   = 5   // network: run again
	exitNoGPU       = 6   // a card was asked for and is not usable
	exitNoProject   = 10  // no hgld.yaml here
	exitLocked      = 11  // another process works on this; its pid is shown
	exitDiskFull    = 12  // disk full or read-only, state safe
	exitInterrupted = 130 // stopped by a signal, state saved
)

// codedError is an error with an exit code and, where one is known, the next
// step to take.
type codedError struct {
	code  int
	err   error
	hint  string
	again bool // the same command may mend it
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
	return &codedError{code: exitCode(err), err: err, hint: fmt.Sprintf(format, args...)}
}

// worthRepeating marks an error of code 3 whose items may succeed when the same
// command asks again, as after a failure of the network: a stage that ends so is
// not done. Without the mark they failed for good, and its result is what it is.
func worthRepeating(err error) error {
	return &codedError{code: exitCode(err), err: err, again: true}
}

// repeatable reports whether an error has the mark of worthRepeating.
func repeatable(err error) bool {
	found := false
	eachCoded(err, func(e *codedError) bool { found = found || e.again; return true })
	return found
}

// hints lists the next steps of an error, of each of several joined ones the
// outermost.
func hints(err error) []string {
	var list []string
	eachCoded(err, func(e *codedError) bool {
		if e.hint != "" && !slices.Contains(list, e.hint) {
			list = append(list, e.hint)
		}
		return e.hint == ""
	})
	var memory *device.OutOfMemory
	if errors.As(err, &memory) {
		list = append(list, "a training needs less with a smaller -o sampler.batch, or with the same batch in chunks: "+
			"-o passes.chunk=32; --dry-run says how much")
	}
	return list
}

// eachCoded calls visit for the coded errors in err, and for those within one
// where visit says so.
func eachCoded(err error, visit func(*codedError) (deeper bool)) {
	if e, ok := err.(*codedError); ok && !visit(e) {
		return
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		eachCoded(e.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			eachCoded(inner, visit)
		}
	}
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
	case diskTrouble(err) != "":
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
	text := visible(bounded(err.Error()))
	switch {
	case code == exitInterrupted && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "hgld: stopped, state saved; the same command continues")
	case code == exitDiskFull:
		fmt.Fprintf(stderr, "hgld: %s\n  %s; finished files are safe: make room and run the same command again\n", text, diskTrouble(err))
	default:
		fmt.Fprintf(stderr, "hgld: %s\n", text)
	}
	for _, hint := range hints(err) {
		fmt.Fprintf(stderr, "  %s\n", visible(bounded(hint)))
	}
	return code
}
