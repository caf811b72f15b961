package conformance

import (
	"fmt"
	"math"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// testInterpolate allows 2e-6, the float32 tolerance that the goldens' README recommends.
func testInterpolate(s *suite) {
	for _, c := range []struct {
		dims []int
		h, w int
		o    device.Interpolation
	}{
		{[]int{1, 1, 1, 1}, 1, 1, device.Interpolation{}},
		{[]int{2, 1, 1, 33}, 3, 2, device.Interpolation{AlignCorners: true}},
		{[]int{1, 13, 10, 3}, 9, 7, device.Interpolation{ScaleH: math.Sqrt2 / 2, ScaleW: math.Sqrt2 / 2}},
		{[]int{2, 7, 9, 31}, 9, 12, device.Interpolation{ScaleH: math.Sqrt2, ScaleW: math.Sqrt2}},
		{[]int{2, 7, 9, 2}, 14, 18, device.Interpolation{}},
		{[]int{1, 5, 6, 4}, 9, 2, device.Interpolation{ScaleH: 1.2, ScaleW: 0.9}}, // reads beyond the last pixel
		{[]int{1, 32, 31, 2}, 1, 33, device.Interpolation{AlignCorners: true}},
		{[]int{3, 8, 8, 127}, 8, 8, device.Interpolation{AlignCorners: true}},
		{[]int{1, 33, 2, 129}, 16, 5, device.Interpolation{}},
		{[]int{1, 3, 3, 1025}, 2, 4, device.Interpolation{AlignCorners: true}},
	} {
		x, what := s.activation(c.dims...), fmt.Sprintf("%v to %d×%d %+v", c.dims, c.h, c.w, c.o)
		y := s.alloc(s.dtype, c.dims[0], c.h, c.w, c.dims[3])
		s.b.Interpolate(y, s.put(s.dtype, x), c.o)
		s.same(what, y, reference.Interpolate(x, c.h, c.w, c.o).V, 2e-6)
	}
}
