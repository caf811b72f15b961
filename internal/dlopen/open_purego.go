//go:build (linux || darwin) && (amd64 || arm64) && !android && !ios

package dlopen

import (
	"fmt"
	"runtime"

	"github.com/ebitengine/purego"
)

// open asks dlerror on the thread of dlopen, since the message of an error belongs to its thread.
func open(name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
}

func symbol(handle uintptr, name string) (uintptr, error) { return purego.Dlsym(handle, name) }

func bind(fptr any, fn uintptr) { purego.RegisterFunc(fptr, fn) }

// Call calls the C function at fn with integers and pointers (no floats, at most
// 32) and returns its result; about a hundred nanoseconds. Memory that an
// argument points to must be kept alive by the caller until Call returns, and
// must not lie on a goroutine's stack. Arguments given as a slice that is kept
// (args...) cost no allocation.
func Call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}

// CallPair is Call for a function that returns a structure of at most two words, without floats, such
// as {int32, int32, pointer}: the calling conventions of these systems return it in two registers.
func CallPair(fn uintptr, args ...uintptr) (first, second uintptr) {
	first, second, _ = purego.SyscallN(fn, args...)
	return first, second
}

// Setenv sets a variable in the environment that C libraries see. Without cgo
// os.Setenv changes only Go's copy of it.
func Setenv(name, value string) error {
	fn, err := purego.Dlsym(purego.RTLD_DEFAULT, "setenv")
	if err != nil {
		return fmt.Errorf("no setenv in the C library: %w", err)
	}
	var setenv func(name, value string, overwrite int32) int32
	purego.RegisterFunc(&setenv, fn)
	if setenv(name, value, 1) != 0 {
		return fmt.Errorf("setenv %s=%s was refused", name, value)
	}
	return nil
}
