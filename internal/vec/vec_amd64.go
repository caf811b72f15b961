package vec

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// fast reports whether the processor supports the instructions of the assembly, and wide
// whether it supports those of the loops with AVX-512 too.
var (
	fast = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	wide = fast && cpu.X86.HasAVX512F
)

func at[T any](s []T) *T { return unsafe.SliceData(s) }

//go:noescape
func expSubAVX2(dst, x *float32, n int, top float32, sums *[8]float64)

//go:noescape
func expSubAVX512(dst, x *float32, n int, top float32, sums *[8]float64)

// expSubFast is expSub for lengths that are multiples of 8. It reports whether the
// processor supports that.
func expSubFast(dst, x []float32, top float32, s *[8]float64) bool {
	n := whole16(len(x))
	if n > 0 {
		expSubAVX512(at(dst), at(x), n, top, s)
	}
	if fast && n < len(x) {
		expSubAVX2(at(dst[n:]), at(x[n:]), len(x)-n, top, s)
	}
	return fast
}

// whole16 returns how many of n elements fill vectors of sixteen float32. It is 0 if the
// processor lacks them.
func whole16(n int) int {
	if !wide {
		return 0
	}
	return n &^ 15
}

// whole8 returns how many of n elements fill vectors of eight float32. It is 0 if the
// processor lacks them.
func whole8(n int) int {
	if !fast {
		return 0
	}
	return n &^ 7
}

// whole4 is whole8 for vectors of four float64.
func whole4(n int) int {
	if !fast {
		return 0
	}
	return n &^ 3
}
