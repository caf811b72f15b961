package emu

import (
	"slices"
	"testing"
)

const (
	refilled = "refilled u64 u64 u32 u32 u32"
	oddCopy  = "odd_copy u64 u64 u32 u32"
	wideSum  = "wide_sum u64 u64 u32"
)

// A copy's destination is NaN until the copy is waited for, so both a read before that and a refill
// of memory that others still read give wrong results.
func TestUnorderedCopiesAreCaught(t *testing.T) {
	const steps = 3
	for _, order := range orders {
		for _, c := range []struct {
			waits, barriers int32
			right           bool
		}{{1, 1, true}, {0, 1, false}, {1, 0, false}} {
			d := open(t, order, refilled)
			y := d.alloc(256 * steps)
			d.run(0, "refilled", 1, 64, y, d.upload(counting(256*steps)), int32(steps), c.waits, c.barriers)
			got := d.download(y, 256*steps)
			if slices.Equal(got, counting(256*steps)) != c.right {
				t.Errorf("order %s, waits %d, barriers %d: %v", order, c.waits, c.barriers, got)
			}
		}
	}
}

func TestCopiesAndFragmentsCheckAddresses(t *testing.T) {
	for _, c := range []struct {
		from, to int32
		code     int
	}{{0, 0, 0}, {4, 8, 0}, {1, 0, codeMisaligned}, {0, 2, codeMisaligned}} {
		d := open(t, "forward", oddCopy)
		y, x := d.alloc(1), d.upload(counting(64))
		if c.code != 0 {
			contains(t, d.faulted(c.code, "odd_copy", 1, 1, 0, y, x, c.from, c.to), "cp.async: an address that 16")
			continue
		}
		d.run(0, "odd_copy", 1, 1, y, x, c.from, c.to)
		if got := d.download(y, 1)[0]; got != float32(c.from) {
			t.Errorf("a copy from %d to %d brought %v", c.from, c.to, got)
		}
	}
	d := open(t, "forward", "copy_to_global u64 u64")
	contains(t, d.faulted(codeIllegalAddress, "copy_to_global", 1, 1, 0, d.alloc(4), d.upload(counting(4))),
		"cp.async: a copy to outside shared memory")
	d = open(t, "forward", "fragment_of_global u64 u64")
	contains(t, d.faulted(codeIllegalAddress, "fragment_of_global", 1, 32, 0, d.alloc(32), d.upload(counting(128))),
		"ldmatrix: a row outside shared memory")
}

func TestMisalignedAccessIsAnError(t *testing.T) {
	for at := range int32(5) {
		d := open(t, "forward", wideSum)
		y, x := d.alloc(1), d.upload(counting(16))
		if at%4 == 0 {
			d.run(0, "wide_sum", 1, 1, y, x, at)
			if got, want := d.download(y, 1)[0], float32(4*at+6); got != want {
				t.Errorf("sum from %d on: %v, want %v", at, got, want)
			}
			continue
		}
		contains(t, d.faulted(codeMisaligned, "wide_sum", 1, 1, 0, y, x, at),
			"kernel wide_sum", "thread (0,0,0)", "the size of its type does not divide")
	}
}
