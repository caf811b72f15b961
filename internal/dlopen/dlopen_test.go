package dlopen

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"hgld/internal/testing/must"
)

// libm exists wherever Open is supported.
func libm(t *testing.T) *Library {
	t.Helper()
	lib, err := Open("libm.so.6", "/usr/lib/libSystem.B.dylib", "libc.musl-x86_64.so.1")
	if errors.Is(err, errors.ErrUnsupported) {
		if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
			t.Fatal(err)
		}
		return nil // the error is the documented behaviour
	}
	must.Do(t, err)
	return lib
}

func TestBoundFunctionTakesFloats(t *testing.T) {
	lib := libm(t)
	if lib == nil {
		return
	}
	var hypot func(x, y float64) float64
	must.Do(t, lib.Bind(&hypot, "hypot"))
	if got := hypot(3, 4); got != 5 {
		t.Errorf("hypot(3, 4) = %v", got)
	}
}

func TestCallPassesPointersAndSetenvReachesC(t *testing.T) {
	lib := libm(t)
	if lib == nil {
		return
	}
	must.Do(t, Setenv("HGLD_TEST_OF_SETENV", "seen by C"))
	getenv := must.Get(lib.Symbol("getenv"))(t)
	name := append([]byte("HGLD_TEST_OF_SETENV"), 0)
	p := Call(getenv, uintptr(unsafe.Pointer(&name[0])))
	runtime.KeepAlive(name)
	strlen := must.Get(lib.Symbol("strlen"))(t)
	if p == 0 || Call(strlen, p) != uintptr(len("seen by C")) {
		t.Error("getenv did not find what Setenv set")
	}
}

// lldiv of the C library returns {quotient, remainder} as 64-bit numbers.
func TestCallPairReturnsBothWordsOfAStructure(t *testing.T) {
	if libm(t) == nil {
		return
	}
	lib := must.Get(Open("libc.so.6", "/usr/lib/libSystem.B.dylib", "libc.musl-x86_64.so.1"))(t)
	lldiv := must.Get(lib.Symbol("lldiv"))(t)
	if q, r := CallPair(lldiv, 1_000_000_000_007, 1000); q != 1_000_000_000 || r != 7 {
		t.Errorf("lldiv returned %d, %d; want 1000000000, 7", q, r)
	}
}

func TestOpenErrorsNameEveryAttempt(t *testing.T) {
	_, err := Open("libnothing-a.so", "/nowhere/libnothing-b.so")
	if err == nil {
		t.Fatal("a library that does not exist was opened")
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	for _, name := range []string{"libnothing-a", "libnothing-b"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("error %q does not name %s", err, name)
		}
	}
	if lib := libm(t); lib != nil {
		if _, err := lib.Symbol("no_such_function"); err == nil {
			t.Error("an unknown symbol was found")
		}
	}
}
