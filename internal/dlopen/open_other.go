//go:build !((linux || darwin) && (amd64 || arm64) && !android && !ios)

package dlopen

import (
	"errors"
	"fmt"
	"runtime"
)

func unsupported() error {
	return fmt.Errorf("hgld opens shared libraries only on Linux and macOS (amd64, arm64); this is %s/%s: %w",
		runtime.GOOS, runtime.GOARCH, errors.ErrUnsupported)
}

func open(string) (uintptr, error) { return 0, unsupported() }

func symbol(uintptr, string) (uintptr, error) { return 0, unsupported() }

func bind(any, uintptr) { panic(unsupported()) }

// Call panics: no library could be opened whose function it might call.
func Call(uintptr, ...uintptr) uintptr { panic(unsupported()) }

// CallPair panics, as Call does.
func CallPair(uintptr, ...uintptr) (first, second uintptr) { panic(unsupported()) }

// Setenv returns an error that wraps errors.ErrUnsupported.
func Setenv(string, string) error { return unsupported() }
