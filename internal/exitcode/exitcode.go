// Package exitcode attaches to an error the exit code of the process and the next step for the
// user. docs/exit-codes.md documents the codes.
package exitcode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
)

// The exit codes of hgld.
const (
	OK          = 0   // done
	Failed      = 1   // failed; the message says why
	Usage       = 2   // wrong usage or configuration
	SomeFailed  = 3   // finished, but some items failed; they are listed
	Integrity   = 4   // a check of files found damage
	Temporary   = 5   // a network or a disk failed for the moment: run the command again
	NoDevice    = 6   // the graphics card asked for cannot be used
	NoProject   = 10  // no hgld.yaml here
	Locked      = 11  // another process works here; the message has its pid
	DiskFull    = 12  // the disk is full or read-only; finished files are safe
	Interrupted = 130 // stopped by a signal, state saved
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

// With returns err with an exit code, or nil for nil. If the operating system denied access to an
// existing file, the code is [Failed] even if [Usage] was given, because no other command line
// would help.
func With(code int, err error) error {
	if err == nil {
		return nil
	}
	if code == Usage && refused(err) {
		code = Failed
	}
	return &coded{code: code, err: err}
}

// refused reports whether the system denied access to a file that exists.
func refused(err error) bool {
	var path *fs.PathError
	var errno syscall.Errno
	if !errors.As(err, &path) || !errors.As(path.Err, &errno) {
		return false
	}
	return !slices.ContainsFunc([]error{fs.ErrNotExist, fs.ErrExist, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG,
		syscall.ELOOP, syscall.EINVAL, syscall.ENOTEMPTY}, func(name error) bool { return errors.Is(errno, name) })
}

// Hint returns err with a next step for the user, which is printed on its own line. The exit code
// stays the same. Hint returns nil for nil.
func Hint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &coded{code: Of(err), err: err, hint: fmt.Sprintf(format, args...)}
}

// Retryable marks an error of code [SomeFailed] whose items may succeed if the same command runs
// again, for example after a network failure. A stage that ends with such an error is not done.
// Without the mark the items have failed for good, and the stage counts as complete.
func Retryable(err error) error {
	if err == nil {
		return nil
	}
	return &coded{code: Of(err), err: err, retryable: true}
}

// IsRetryable reports whether err, or an error that it wraps, was marked by [Retryable].
func IsRetryable(err error) bool {
	found := false
	each(err, func(e *coded) bool { found = found || e.retryable; return true })
	return found
}

// Hints returns the hints in err without duplicates. Of nested hints it returns the outermost; of
// joined errors it returns one each.
func Hints(err error) []string {
	var list []string
	each(err, func(e *coded) bool {
		if e.hint != "" && !slices.Contains(list, e.hint) {
			list = append(list, e.hint)
		}
		return e.hint == ""
	})
	return list
}

// each calls visit for every coded error in err. It descends into one only if visit returns true.
func each(err error, visit func(*coded) (deeper bool)) {
	if e, ok := err.(*coded); ok && !visit(e) {
		return
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		each(e.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			each(inner, visit)
		}
	}
}

// Of returns the exit code of an error: [DiskFull] if the disk accepts no more data, else the
// outermost code given by [With], else [Interrupted] if a context was cancelled, else [Failed].
func Of(err error) int {
	var c *coded
	switch {
	case err == nil:
		return OK
	case DiskTrouble(err) != "":
		return DiskFull
	case errors.As(err, &c):
		return c.code
	case errors.Is(err, context.Canceled):
		return Interrupted
	}
	return Failed
}
