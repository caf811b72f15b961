package conformance

import (
	"fmt"
	"math"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// testTrainingShapes tests a convolution as trained: 3×3 with 64 channels at 56², the second
// stage of a ResNet. The reference is too slow for all elements, so each result is sampled,
// including the corners of the first and the last image.
func testTrainingShapes(s *suite, b device.Backend) {
	const side, channels = 56, 64
	c := convCase{16, side, side, channels, channels, 3, 3, device.ConvShape{PadH: 1, PadW: 1}}
	for c.n > 1 && !s.fits(c.n*side*side*channels*channels*9) {
		c.n /= 2
	}
	if !s.fits(c.n * side * side * channels * channels * 9) {
		return
	}
	x, dy := s.master(c.n, side, side, channels), s.master(c.n, side, side, channels)
	w := s.master(channels, 3, 3, channels)
	deviceX, deviceW, up := s.put(device.F32, x), s.put(device.F32, w), s.put(device.F32, dy)
	y, dx, dw := s.alloc(device.F32, x.Dims...), s.alloc(device.F32, x.Dims...), s.alloc(device.F32, w.Dims...)
	b.Conv(y, deviceX, deviceW, c.shape, device.Epilogue{})
	b.ConvGradX(dx, up, deviceW, c.shape, device.GradEpilogue{})
	b.ConvGradW(dw, up, deviceX, c.shape, 0)

	s.sampled("Conv", y, c.n, func(n, i, j, k int) float64 { return reference.ConvAt(x, w, c.shape, n, i, j, k) })
	s.sampled("ConvGradX", dx, c.n, func(n, i, j, k int) float64 {
		sum := 0.0
		for r := range 3 {
			for q := range 3 {
				if y, z := i+1-r, j+1-q; y >= 0 && y < side && z >= 0 && z < side {
					for f := range channels {
						sum += dy.V[((n*side+y)*side+z)*channels+f] * w.V[((f*3+r)*3+q)*channels+k]
					}
				}
			}
		}
		return sum
	})
	s.sampled("ConvGradW", dw, channels, func(f, r, q, k int) float64 {
		sum := 0.0
		for n := range c.n {
			for i := range side {
				for j := range side {
					if y, z := i+r-1, j+q-1; y >= 0 && y < side && z >= 0 && z < side {
						sum += dy.V[((n*side+i)*side+j)*channels+f] * x.V[((n*side+y)*side+z)*channels+k]
					}
				}
			}
		}
		return sum
	})
}

// sampled compares some elements of a four-dimensional array with their definition.
func (s *suite) sampled(what string, a device.Array, first int, want func(i, j, k, l int) float64) {
	s.Helper()
	got := s.get(a)
	var have, define []float64
	for i := range 64 {
		at := [4]int{s.r.IntN(first), s.r.IntN(a.Dims[1]), s.r.IntN(a.Dims[2]), s.r.IntN(a.Dims[3])}
		if i < 16 { // corners
			for j := range at {
				at[j] = i >> j & 1 * (a.Dims[j] - 1)
			}
		}
		have = append(have, got[((at[0]*a.Dims[1]+at[1])*a.Dims[2]+at[2])*a.Dims[3]+at[3]])
		define = append(define, want(at[0], at[1], at[2], at[3]))
	}
	for _, v := range got {
		if math.IsNaN(v) {
			s.Fatalf("%s at training shapes: an element was not written", what)
		}
	}
	s.near(fmt.Sprint(what, " at training shapes"), have, define, productTolerance, denormal)
}
