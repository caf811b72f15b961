package conformance

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// frozen holds the arrays of a layer with fixed statistics.
type frozen struct{ w, gamma, beta, mean, variance *array }

const foldEps = 1e-5

func (f frozen) fold() (wf, bf *array) {
	return reference.FoldNorm(f.w, f.gamma, f.beta, f.mean, f.variance, foldEps)
}

// testFoldNorm includes γ = 0 and γ = 1e-8, where the gradient of γ must be as accurate as
// elsewhere.
func testFoldNorm(s *suite) {
	for i, dims := range [][]int{{1, 1, 1, 1}, {2, 3, 3, 2}, {33, 1, 1, 31}, {129, 3, 3, 4}, {31, 7, 7, 4},
		{1, 1, 1, 1025}} {
		k := dims[0]
		f := frozen{s.master(dims...), s.master(k), s.master(k), s.master(k), s.master(k)}
		for j, v := range f.variance.V {
			f.variance.V[j] = rounded(device.F32, v*v+0.01)
		}
		if k > 2 {
			f.gamma.V[0] = 0
			f.gamma.V[k-1] = rounded(device.F32, 1e-8)
		}
		w, gamma, beta := s.put(device.F32, f.w), s.put(device.F32, f.gamma), s.put(device.F32, f.beta)
		mean, variance := s.put(device.F32, f.mean), s.put(device.F32, f.variance)
		wf, bf := s.alloc(s.dtype, dims...), s.alloc(device.F32, k)
		s.b.FoldNorm(wf, bf, w, gamma, beta, mean, variance, foldEps)
		wantW, wantB := f.fold()
		s.same(fmt.Sprint("wf ", dims), wf, wantW.V, 1e-6)
		s.same(fmt.Sprint("bf ", dims), bf, wantB.V, 1e-6)

		upW, upB := s.master(dims...), s.master(k)
		acc := float32(i % 2)
		oldW, oldG, oldB := s.master(dims...), s.master(k), s.master(k)
		dw, dgamma, dbeta := s.put(device.F32, oldW), s.put(device.F32, oldG), s.put(device.F32, oldB)
		s.b.FoldNormGrad(dw, dgamma, dbeta, s.put(device.F32, upW), s.put(device.F32, upB), w, gamma, mean, variance,
			foldEps, acc)
		loss := func() float64 {
			wf, bf := f.fold()
			return weighted(upW, wf) + weighted(upB, bf)
		}
		s.gradient(fmt.Sprint("dw ", dims), s.minus(dw, oldW, acc), f.w, loss, 1e-5)
		s.gradient(fmt.Sprint("dgamma ", dims), s.minus(dgamma, oldG, acc), f.gamma, loss, 1e-5)
		s.gradient(fmt.Sprint("dbeta ", dims), s.minus(dbeta, oldB, acc), f.beta, loss, 1e-5)
	}
}
