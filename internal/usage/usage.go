// Package usage has the type of the errors that a user mends by another command line, setting or file.
package usage

import "fmt"

// Error is such an error. What it says is all that a caller needs.
type Error struct{ Err error }

// Error is the text of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Errorf is fmt.Errorf for such an error.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Wrap returns err as an [Error], nil for nil.
func Wrap(err error) error {
	if err == nil {
		return nil
	}
	return &Error{err}
}
