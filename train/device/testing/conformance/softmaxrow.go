package conformance

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// testSoftmax allows 1e-6 for the result. It allows 1e-5 for the gradient along a direction,
// which is a difference and uses the rounded y.
func testSoftmax(s *suite) {
	for i, m := range matrices {
		for _, log := range []bool{false, true} {
			x, dy := s.activation(m[0], m[1]), s.activation(m[0], m[1])
			put, alloc := s.forms(i%3 == 0)
			y, dx := alloc(s.dtype, m[0], m[1]), alloc(s.dtype, m[0], m[1])
			what := fmt.Sprint(m, " log ", log)
			s.b.Softmax(y, put(s.dtype, x), log)
			s.same(what, y, reference.Softmax(x, log).V, 1e-6)
			s.b.SoftmaxGrad(dx, put(s.dtype, dy), y, log)
			s.gradient("gradient "+what, s.get(dx), x, func() float64 {
				return weighted(dy, reference.Softmax(x, log))
			}, max(1e-5, 8*s.unit(s.dtype)))
			s.gapsAreKept(what, dx)
		}
	}
	large := &array{Dims: []int{1, 3}, V: []float64{1000, -1000, 999}} // exp would overflow
	y := s.alloc(device.F32, 1, 3)
	s.b.Softmax(y, s.put(device.F32, large), false)
	s.same("large logits", y, reference.Softmax(large, false).V, 1e-6)
}
