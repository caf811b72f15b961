// Package dlopen opens shared libraries at run time without cgo, so that one
// binary runs with and without them: a BLAS, libjpeg-turbo, the CUDA libraries.
package dlopen

import (
	"errors"
	"fmt"
	"strings"
)

// Library is an open shared library. It is never closed, because its functions may be in use
// anywhere.
type Library struct {
	Path   string // as it was opened
	handle uintptr
}

// Open opens the first of the names or paths that can be opened. A name without a slash is searched
// for in the places of the system's loader. The error says why each one failed.
func Open(names ...string) (*Library, error) {
	var reasons []string
	for _, name := range names {
		handle, err := open(name)
		if err == nil {
			return &Library{Path: name, handle: handle}, nil
		}
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, err
		}
		reasons = append(reasons, err.Error())
	}
	return nil, fmt.Errorf("no library could be opened: %s", strings.Join(reasons, "; "))
}

// Symbol returns the address of a function.
func (l *Library) Symbol(name string) (uintptr, error) {
	fn, err := symbol(l.handle, name)
	if err != nil {
		return 0, fmt.Errorf("%s has no function %s: %w", l.Path, name, err)
	}
	return fn, nil
}

// Bind makes *fptr, a pointer to a variable of function type, call the C function name. It converts
// numbers, strings and pointers. A call costs a few hundred nanoseconds; Call is faster.
func (l *Library) Bind(fptr any, name string) error {
	fn, err := l.Symbol(name)
	if err != nil {
		return err
	}
	bind(fptr, fn)
	return nil
}
