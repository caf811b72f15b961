package img

import (
	"fmt"
	"math"
	"slices"
)

// precision is the number of fraction bits of a weight. 8 bits remain for the pixel, and 2 for the
// sum, which may exceed 255 with a kernel that has negative lobes.
const precision = 22

// One is the weight of an output that equals its input.
const One = 1 << precision

// Taps are the rounded weights of one axis of a resampling. With s the sum over j < Count[i] of
// Weight[i·Width + j] times input First[i] + j, output i is (s + 2²¹)/2²², rounded down and limited
// to a byte. An output without weights is 0.
type Taps struct {
	First, Count []int32 // of each output
	Weight       []int32 // in units of 2⁻²², Width of them for each output
	Width        int     // the greatest count, or more

	exact []float64 // scratch
}

// Window is Size outputs of an axis, starting with output From. Those from Lo to before Hi lie on
// the axis, and the others are black.
type Window struct{ From, Size, Lo, Hi int }

// Whole returns the window of all outputs of an axis.
func Whole(size int) Window { return Window{Size: size, Hi: size} }

// CenterWindow returns the window that torchvision's CenterCrop keeps of an axis of the given length.
func CenterWindow(length, size int) Window {
	to, from, n := centre(length, size)
	return Window{From: from - to, Size: size, Lo: to, Hi: to + n}
}

// Shift moves the window. Outputs outside the earlier one are black.
func (w Window) Shift(by int) Window {
	w.From, w.Lo = w.From+by, min(max(w.Lo-by, 0), w.Size)
	w.Hi = min(max(w.Hi-by, w.Lo), w.Size)
	return w
}

// Set computes the taps for a part of the out outputs to which n inputs are resampled. They give
// the bytes of Resize, which skips a pass that changes nothing.
func (t *Taps) Set(n, out int, f Filter, part Window) {
	if part.Lo < 0 || part.Hi > part.Size || part.Lo < part.Hi && (part.From+part.Lo < 0 || part.From+part.Hi > out) {
		panic(fmt.Sprintf("img: %+v of %d outputs", part, out))
	}
	axis := newAxis(n, out, 0, float32(n), f)
	t.reset(part.Size, axis.width())
	for i := part.Lo; i < part.Hi; i++ {
		t.output(i, &axis, part.From+i)
	}
}

// set computes the taps of all outputs of the interval lo–hi of n inputs.
func (t *Taps) set(n, out int, lo, hi float32, f Filter) {
	axis := newAxis(n, out, lo, hi, f)
	t.reset(out, axis.width())
	for i := range out {
		t.output(i, &axis, i)
	}
}

// reset prepares size outputs without weights.
func (t *Taps) reset(size, width int) {
	t.Width = width
	t.First, t.Count = grow(t.First, size), grow(t.Count, size)
	t.Weight, t.exact = grow(t.Weight, size*width), grow(t.exact, width)
	clear(t.First)
	clear(t.Count)
}

// output computes the taps of output i, which is output `of` of the axis. It rounds weights away
// from zero.
func (t *Taps) output(i int, a *axis, of int) {
	from, count := a.weights(t.exact, of)
	t.First[i], t.Count[i] = int32(from), int32(count)
	for j, w := range t.exact[:count] {
		t.Weight[i*t.Width+j] = int32(math.Trunc(float64(w*(1<<precision)) + math.Copysign(0.5, w)))
	}
}

// grow returns a slice of n elements, in the memory of s if that is large enough.
func grow[T any](s []T, n int) []T {
	return slices.Grow(s[:0], n)[:n]
}

// Span returns the first input that any output uses, and the one after the last. It returns 0 and 0
// if none uses any.
func (t *Taps) Span() (from, to int) {
	for i, count := range t.Count {
		if count == 0 {
			continue
		}
		first := int(t.First[i])
		if to == 0 {
			from = first
		}
		from, to = min(from, first), max(to, first+int(count))
	}
	return from, to
}

// Skip renumbers the inputs after the first n were removed, which no output uses.
func (t *Taps) Skip(n int) {
	for i, count := range t.Count {
		if count > 0 {
			t.First[i] -= int32(n)
		}
	}
}
