package conformance

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// testSoftmaxLoss allows 2e-6 for the loss, which is the difference of numbers about ten times
// larger for one class in a thousand and large logits.
func testSoftmaxLoss(s *suite) {
	for i, m := range matrices {
		z := s.activation(m[0], m[1])
		target := make([]int, m[0])
		targets := zeros(m[0])
		for r := range target {
			target[r] = s.r.IntN(m[1]+1) - 1
			targets.V[r] = float64(target[r])
		}
		o := device.Softmax{Temperature: 1}
		if i%2 == 1 {
			o = device.Softmax{Temperature: 0.25, Smoothing: 0.1}
		}
		put, alloc := s.forms(i%3 == 0)
		dz := alloc(s.dtype, m[0], m[1])
		deviceZ, deviceTarget := put(s.dtype, z), s.put(device.I32, targets)
		for _, withGrad := range []bool{true, false} {
			loss, grad := s.alloc(device.F32, m[0]), dz
			if !withGrad {
				grad = absent
			}
			s.b.SoftmaxLoss(loss, grad, deviceZ, deviceTarget, o)
			s.same(fmt.Sprint("loss ", m, o), loss, reference.SoftmaxLoss(z, target, o), 2e-6)
		}
		s.gradient(fmt.Sprint("gradient ", m, o), s.get(dz), z, func() float64 {
			return total(reference.SoftmaxLoss(z, target, o))
		}, max(1e-5, 8*s.unit(s.dtype)))
	}
	z := &array{Dims: []int{1, 3}, V: []float64{1000, -1000, 999}} // exp would overflow
	loss, dz := s.alloc(device.F32, 1), s.alloc(device.F32, 1, 3)
	o := device.Softmax{Temperature: 0.05}
	s.b.SoftmaxLoss(loss, dz, s.put(device.F32, z), s.put(device.I32, &array{Dims: []int{1}, V: []float64{1}}), o)
	s.same("large logits", loss, reference.SoftmaxLoss(z, []int{1}, o), 1e-6)
}
