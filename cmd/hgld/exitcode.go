package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
)

// The exit codes of hgld; docs/exit-codes.md documents them.
const (
	exitOK          = 0   // done
	exitFailed      = 1   // failed; the message says why
	exitUsage       = 2   // wrong usage or configuration
	exitSomeFailed  = 3   // finished, but some items failed; they are listed
	exitIntegrity   = 4   // a check of files found damage
	exitTemporary   = 5   // a network or a disk failed for the moment: run the command again
	exitNoGPU       = 6   // the named GPU cannot be used
	exitNoProject   = 10  // no hgld.yaml here
	exitLocked      = 11  // another process works here; the message has its pid
	exitDiskFull    = 12  // the disk is full or read-only; finished files are safe
	exitDefect      = 70  // a defect of hgld; the message says where the trace is
	exitInterrupted = 130 // stopped by a signal, state saved
)

// coded is an error with an exit code or a hint.
type coded struct {
	code      int
	err       error
	hint      string
	retryable bool // the same command may succeed if it is run again
}

func (e *coded) Error() string { return e.err.Error() }
func (e *coded) Unwrap() error { return e.err }

// advice is the exit code and the next step of one kind of error; ok is false for other errors. Code [exitOK] leaves
// the exit code to the errors within. A command that knows more than the error adds its own hint by [withHint], which
// takes precedence.
type advice func(err error) (code int, hint string, ok bool)

// advices are those of the errors that packages return. Each stands beside the command that meets the error first.
var advices = slices.Concat(
	filesAdvice, projectAdvice, demoAdvice, scrapeAdvice, embedAdvice, clusterAdvice, curateAdvice, labelsAdvice,
	slicesAdvice, importAdvice, shardsAdvice, ranksAdvice, studyAdvice, modelsAdvice, mirrorAdvice,
	selectionAdvice, runAdvice, vectorsAdvice, reportAdvice, indexAdvice,
)

// kind is the row of the errors of type E. A nil hint gives none.
func kind[E error](code int, hint func(E) string) advice {
	return func(err error) (int, string, bool) {
		e, ok := err.(E)
		if !ok || hint == nil {
			return code, "", ok
		}
		return code, hint(e), true
	}
}

// sentinel is the row of one error.
func sentinel(of error, code int, hint string) advice {
	return func(err error) (int, string, bool) { return code, hint, err == of }
}

// withCode returns err with an exit code. It returns nil for nil.
func withCode(code int, err error) error {
	if err == nil {
		return nil
	}
	return &coded{code: unlessRefused(code, err), err: err}
}

// unlessRefused turns wrong usage into failure if the system refuses to read or write a file
// that exists: another command line would not help.
func unlessRefused(code int, err error) int {
	var path *fs.PathError
	var errno syscall.Errno
	if code != exitUsage || !errors.As(err, &path) || !errors.As(path.Err, &errno) {
		return code
	}
	if slices.ContainsFunc([]error{fs.ErrNotExist, fs.ErrExist, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG,
		syscall.ELOOP, syscall.EINVAL, syscall.ENOTEMPTY}, func(name error) bool { return errors.Is(errno, name) }) {
		return code
	}
	return exitFailed
}

// withHint returns err with a next step for the user, which is printed on its own line. The exit
// code stays the same. withHint returns nil for nil.
func withHint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &coded{code: exitCode(err), err: err, hint: fmt.Sprintf(format, args...)}
}

// usagef returns an error with the exit code of wrong usage or configuration.
func usagef(format string, args ...any) error {
	return withCode(exitUsage, fmt.Errorf(format, args...))
}

// retryable marks an error of code [exitSomeFailed] whose items may succeed if the same command runs
// again, for example after a network failure. A stage that ends with such an error is not done.
// Without the mark the items have failed for good, and the stage counts as complete.
func retryable(err error) error {
	if err == nil {
		return nil
	}
	return &coded{code: exitCode(err), err: err, retryable: true}
}

// isRetryable reports whether err, or an error that it wraps, was marked by [retryable].
func isRetryable(err error) bool {
	found := false
	walk(err, func(err error) bool {
		e, ok := err.(*coded)
		found = found || ok && e.retryable
		return true
	})
	return found
}

// ended tells the engine of stages how a stage ended, see [pipeline.Pipeline].
func ended(err error) (complete, again bool) {
	return exitCode(err) == exitSomeFailed, isRetryable(err)
}

// exitCode returns the exit code of an error: [exitDiskFull] if the disk accepts no more data,
// else the code of the outermost error that has one by [withCode] or in the table of
// [advices], else [exitInterrupted] if a context was cancelled, else [exitFailed].
func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case diskTrouble(err) != "":
		return exitDiskFull
	}
	code := exitOK
	walk(err, func(err error) bool {
		if code == exitOK {
			code, _ = adviceOf(err)
		}
		return code == exitOK
	})
	switch {
	case code != exitOK:
		return code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailed
}

// hints returns the hints in err without duplicates. Of nested hints it returns the outermost; of
// joined errors it returns one each.
func hints(err error) []string {
	var list []string
	walk(err, func(err error) bool {
		_, hint := adviceOf(err)
		if hint != "" && !slices.Contains(list, hint) {
			list = append(list, hint)
		}
		return hint == ""
	})
	return list
}

// adviceOf returns the exit code and the hint that one error has, apart from those within it:
// what [withCode] and [withHint] gave it, or what the table says of its kind.
func adviceOf(err error) (code int, hint string) {
	if e, ok := err.(*coded); ok {
		return e.code, e.hint
	}
	for _, a := range advices {
		if code, hint, ok := a(err); ok {
			return unlessRefused(code, err), hint
		}
	}
	return exitOK, ""
}

// walk calls visit for err and the errors that it wraps, outermost first. It descends into one only
// if visit returns true.
func walk(err error, visit func(error) (deeper bool)) {
	if err == nil || !visit(err) {
		return
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		walk(e.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			walk(inner, visit)
		}
	}
}
