package devicetest

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// normShapes are images and rows. With one value per channel there are no statistics. With two
// values x̂ is always ±1, so the gradient is nearly zero and is not compared.
var normShapes = [][]int{
	{4, 1}, {1, 2, 2, 1}, {33, 31}, {2, 5, 7, 33}, {127, 2}, {1025, 3}, {3, 9, 11, 128}, {2, 1, 2, 1025}, {2, 40, 40, 8},
}

func testNorm(s *suite) {
	for i, dims := range normShapes {
		for option := range 16 {
			o := device.NormKind{Eps: 1e-5, ReLU: option&1 != 0, Frozen: option&2 != 0}
			s.norm(dims, o, option&4 != 0, option&8 != 0, float32((i+option)%2))
		}
	}
	s.normOfBigMean()
}

func (s *suite) norm(dims []int, o device.NormKind, affine, residual bool, acc float32) {
	s.Helper()
	c := dims[len(dims)-1]
	x, dy := s.activation(dims...), s.activation(dims...)
	var gamma, beta, res *array
	var dGamma, dBeta, dRes, gotGamma, gotBeta, gotRes device.Array
	oldGamma, oldBeta := s.master(c), s.master(c)
	if affine {
		gamma, beta = s.master(c), s.master(c)
		dGamma, dBeta = s.put(device.F32, gamma), s.put(device.F32, beta)
		gotGamma, gotBeta = s.put(device.F32, oldGamma), s.put(device.F32, oldBeta)
	}
	if residual {
		res = s.activation(dims...)
		dRes, gotRes = s.put(s.dtype, res), s.alloc(s.dtype, dims...)
	}
	var given []float64
	stats := s.alloc(device.F32, 2, c)
	if o.Frozen {
		st := s.master(2, c)
		for j := c; j < 2*c; j++ {
			st.V[j] = rounded(device.F32, st.V[j]*st.V[j]+0.1)
		}
		given, stats = st.V, s.put(device.F32, st)
	}
	what := fmt.Sprintf("%v %+v affine %v residual %v", dims, o, affine, residual)
	y, deviceX := s.alloc(s.dtype, dims...), s.put(s.dtype, x)
	s.b.Norm(y, stats, deviceX, dGamma, dBeta, dRes, o)
	want, wantStats := reference.Norm(x, gamma, beta, res, given, o)
	s.same(what, y, want.V, 3e-6)
	s.same("statistics of "+what, stats, wantStats, 2e-6)

	dx := s.alloc(s.dtype, dims...)
	s.b.NormGrad(dx, gotRes, gotGamma, gotBeta, s.put(s.dtype, dy), deviceX, y, dGamma, stats, o, acc)
	masked := dy.Clone() // the mask stays fixed at x, since differences must not cross a kink
	for j, v := range want.V {
		if o.ReLU && v == 0 {
			masked.V[j] = 0
		}
	}
	open := o
	open.ReLU = false
	loss := func() float64 {
		y, _ := reference.Norm(x, gamma, beta, res, given, open)
		return weighted(masked, y)
	}
	tolerance := max(2e-5, 8*s.unit(s.dtype))
	s.gradient("dx "+what, s.get(dx), x, loss, tolerance)
	if affine {
		s.gradient("dgamma "+what, s.minus(gotGamma, oldGamma, acc), gamma, loss, tolerance)
		s.gradient("dbeta "+what, s.minus(gotBeta, oldBeta, acc), beta, loss, tolerance)
	}
	if residual {
		s.gradient("dres "+what, s.get(gotRes), res, loss, tolerance)
	}
}

// normOfBigMean tests a mean 1,000 times the spread. float32 holds x only to 6e-5 of the
// spread, and no more than that may be lost. A variance computed as mean square minus squared
// mean would be useless.
func (s *suite) normOfBigMean() {
	if s.dtype != device.F32 {
		return
	}
	x := s.master(500, 6)
	for i := range x.V {
		x.V[i] = rounded(device.F32, 1000+x.V[i])
	}
	o := device.NormKind{Eps: 1e-5}
	y, stats := s.alloc(device.F32, 500, 6), s.alloc(device.F32, 2, 6)
	s.b.Norm(y, stats, s.put(device.F32, x), absent, absent, absent, o)
	want, _ := reference.Norm(x, nil, nil, nil, nil, o)
	s.same("big mean", y, want.V, 2e-4)
}

func testReluGrad(s *suite) {
	for i, m := range append(matrices, [2]int{5000, 7}) {
		y, dy, old := s.activation(m[0], m[1]), s.activation(m[0], m[1]), s.master(m[1])
		for j, v := range y.V {
			y.V[j] = max(v, 0)
		}
		acc := float32(i % 2)
		want, bias := zeros(m[0], m[1]), zeros(m[1])
		for j, d := range dy.V {
			if y.V[j] > 0 {
				want.V[j] = d
				bias.V[j%m[1]] += d
			}
		}
		for j := range bias.V {
			bias.V[j] += float64(acc) * old.V[j]
		}
		up, mask := s.put(s.dtype, dy), s.put(s.dtype, y)
		dx, dbias := s.alloc(s.dtype, m[0], m[1]), s.put(device.F32, old)
		s.b.ReluGrad(dx, dbias, up, mask, acc)
		s.equal(fmt.Sprint("dx ", m), dx, want.V)
		s.same(fmt.Sprint("dbias ", m), dbias, bias.V, 2e-6)
		dx = s.alloc(s.dtype, m[0], m[1])
		s.b.ReluGrad(dx, absent, up, mask, 0)
		s.equal(fmt.Sprint("without dbias ", m), dx, want.V)
		dbias = s.put(device.F32, old)
		s.b.ReluGrad(absent, dbias, up, mask, acc)
		s.same(fmt.Sprint("without dx ", m), dbias, bias.V, 2e-6)
		s.b.ReluGrad(up, absent, up, mask, 0)
		s.equal(fmt.Sprint("in place ", m), up, want.V)
	}
}
