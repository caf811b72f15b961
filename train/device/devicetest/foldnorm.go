package devicetest

import (
	"fmt"
	"math"

	"hgld/train/device"
)

// frozen holds the arrays of a layer with given statistics.
type frozen struct{ w, gamma, beta, mean, variance *array }

const foldEps = 1e-5

func (f frozen) fold() (wf, bf *array) {
	wf, bf = zeros(f.w.dims...), zeros(f.w.dims[0])
	width := len(f.w.v) / len(bf.v)
	for k := range bf.v {
		scale := at(f.gamma, k, 1) / math.Sqrt(f.variance.v[k]+foldEps)
		bf.v[k] = at(f.beta, k, 0) - scale*f.mean.v[k]
		for i := range width {
			wf.v[k*width+i] = scale * f.w.v[k*width+i]
		}
	}
	return wf, bf
}

// testFoldNorm has γ = 0 and γ = 1e-8 beside others: the gradient of γ must be as
// exact there as anywhere.
func testFoldNorm(s *suite) {
	for i, dims := range [][]int{{1, 1, 1, 1}, {2, 3, 3, 2}, {33, 1, 1, 31}, {129, 3, 3, 4}, {31, 7, 7, 4}, {1, 1, 1, 1025}} {
		k := dims[0]
		f := frozen{s.master(dims...), s.master(k), s.master(k), s.master(k), s.master(k)}
		for j, v := range f.variance.v {
			f.variance.v[j] = rounded(device.F32, v*v+0.01)
		}
		if k > 2 {
			f.gamma.v[0] = 0
			f.gamma.v[k-1] = rounded(device.F32, 1e-8)
		}
		w, gamma, beta := s.put(device.F32, f.w), s.put(device.F32, f.gamma), s.put(device.F32, f.beta)
		mean, variance := s.put(device.F32, f.mean), s.put(device.F32, f.variance)
		wf, bf := s.alloc(s.dtype, dims...), s.alloc(device.F32, k)
		s.b.FoldNorm(wf, bf, w, gamma, beta, mean, variance, foldEps)
		wantW, wantB := f.fold()
		s.same(fmt.Sprint("wf ", dims), wf, wantW.v, 1e-6)
		s.same(fmt.Sprint("bf ", dims), bf, wantB.v, 1e-6)

		upW, upB := s.master(dims...), s.master(k)
		acc := float32(i % 2)
		oldW, oldG, oldB := s.master(dims...), s.master(k), s.master(k)
		dw, dgamma, dbeta := s.put(device.F32, oldW), s.put(device.F32, oldG), s.put(device.F32, oldB)
		s.b.FoldNormGrad(dw, dgamma, dbeta, s.put(device.F32, upW), s.put(device.F32, upB), w, gamma, mean, variance, foldEps, acc)
		loss := func() float64 {
			wf, bf := f.fold()
			return weighted(upW, wf) + weighted(upB, bf)
		}
		s.gradient(fmt.Sprint("dw ", dims), s.minus(dw, oldW, acc), f.w, loss, 1e-5)
		s.gradient(fmt.Sprint("dgamma ", dims), s.minus(dgamma, oldG, acc), f.gamma, loss, 1e-5)
		s.gradient(fmt.Sprint("dbeta ", dims), s.minus(dbeta, oldB, acc), f.beta, loss, 1e-5)
	}
}
