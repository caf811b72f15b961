package cpu

import (
	"math"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// vectors is true if the processor has the instructions of rankloss_amd64.s. Nothing sets it: a row
// that is to be computed without them is plain.
var vectors = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// fewPositives is the number of positives up to which the plain sum over pairs beats sorting
// the row. Measured on rows of 256 to 60,000 items, with sigmoids and with H⁻: 24 to 32, or
// about 4 without vectors.
func fewPositives() int {
	if vectors {
		return 28
	}
	return 4
}

var inf = float32(math.Inf(1))

//go:noescape
func gatherAVX2(x *float32, n int, y float32, k *upper) (value, slope float64)

//go:noescape
func spreadAVX2(slope *float64, y *float32, n int, x float32, w float64, k *upper)

//go:noescape
func expNegsAVX2(x *float64, n int)

//go:noescape
func tailsAVX2(out, near *float64, first, stop *int32, n int, decay, w *float64, dir int, c *[2 * terms]float64)

// gatherFast is gather, if the processor supports it.
func (u *upper) gatherFast(x []float32, y float32) (value, slope float64, ok bool) {
	if !vectors {
		return 0, 0, false
	}
	whole := len(x) &^ 7
	value, slope = gatherAVX2(unsafe.SliceData(x), whole, y, u)
	if whole < len(x) {
		rest := [8]float32{-inf, -inf, -inf, -inf, -inf, -inf, -inf, -inf} // f is 0 here
		copy(rest[:], x[whole:])
		v, d := gatherAVX2(&rest[0], 8, y, u)
		value, slope = value+v, slope+d
	}
	return value, slope, true
}

// spreadFast is spread, if the processor supports it.
func (u *upper) spreadFast(slope []float64, x float32, w float64, y []float32) bool {
	if !vectors {
		return false
	}
	whole := len(y) &^ 7
	spreadAVX2(unsafe.SliceData(slope), unsafe.SliceData(y), whole, x, w, u)
	if whole < len(y) {
		var sums [8]float64
		var rest [8]float32
		copy(rest[:], y[whole:])
		spreadAVX2(&sums[0], &rest[0], 8, x, w, u)
		for j := whole; j < len(y); j++ {
			slope[j] += sums[j-whole]
		}
	}
	return true
}

// expNegsFast is expNegs for whole vectors. It returns the number of elements processed.
func expNegsFast(x []float64) int {
	done := len(x) &^ 3
	if !vectors || done == 0 {
		return 0
	}
	expNegsAVX2(unsafe.SliceData(x), done)
	return done
}

// sweepFast runs the whole sweep, or returns false and does nothing.
func (c *sums) sweepFast(dir int, decay []float64) bool {
	if !vectors {
		return false
	}
	tailsAVX2(unsafe.SliceData(c.out), unsafe.SliceData(c.near), unsafe.SliceData(c.first), unsafe.SliceData(c.stop),
		len(c.y), unsafe.SliceData(decay), unsafe.SliceData(c.w), dir, &tails)
	return true
}
