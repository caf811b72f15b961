package conformance

import (
	"fmt"
	"math"
	"math/bits"

	"hgld/internal/testing/effort"
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
			if bits.OnesCount(uint(option))%2 != i%2 && !effort.Exhaustive() {
				continue // half of the forms, with every pair of options
			}
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
	if !o.Frozen {
		only := s.alloc(device.F32, 2, c)
		s.b.Norm(absent, only, deviceX, absent, absent, absent, o)
		s.same("statistics alone of "+what, only, wantStats, 2e-6)
	}

	dx := s.alloc(s.dtype, dims...)
	s.normGrad(dx, gotRes, gotGamma, gotBeta, s.put(s.dtype, dy), deviceX, y, dGamma, stats, o, acc)
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

// normGrad computes the gradient of Norm with residual and ReLU. The gradient of the ReLU comes first;
// half of the cases take the sums from it.
func (s *suite) normGrad(dx, dres, dgamma, dbeta, dy, x, y, gamma, stats device.Array, o device.NormKind, acc float32) {
	var e device.GradEpilogue
	if o.ReLU {
		e.Mask = y
	}
	if acc == 1 {
		e.X, e.Mean, e.Sums = x, stats.RowRange(0, 1).Reshape(x.Cols()), s.alloc(device.F32, 2, x.Cols())
	}
	s.b.ReluGrad(dy, dy, e, 0)
	s.b.NormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, e.Sums, o, acc)
	if !dres.Absent() {
		s.b.Copy(dres, dy)
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

// convStats compares the statistics that Conv computes with those of its result, also for a mean
// 1,000 times the spread.
func (s *suite) convStats(what string, c convCase, x, w, bias device.Array) {
	outH, outW := c.out()
	for _, offset := range []float64{0, 1000} {
		if offset != 0 && s.dtype != device.F32 {
			continue // BF16 has no digits left for the spread
		}
		b := s.get(bias)
		for i := range b {
			b[i] += offset
		}
		e := device.Epilogue{Bias: s.put(device.F32, &array{Dims: []int{c.k}, V: b}), Stats: s.alloc(device.F32, 2, c.k)}
		y := s.alloc(s.dtype, c.n, outH, outW, c.k)
		s.b.Conv(y, x, w, c.shape, e)
		_, want := reference.Norm(&array{Dims: y.Shape(), V: s.get(y)}, nil, nil, nil, nil, device.NormKind{})
		got, spread := s.get(e.Stats), 0.0
		for _, variance := range want[c.k:] {
			spread += variance
		}
		// a mean near zero has half a unit of the rounding of the numbers that cancel in it
		s.near(fmt.Sprintf("%s: means about %g", what, offset), got[:c.k], want[:c.k], 2e-7, 0x1p-25*math.Sqrt(spread))
		s.near(fmt.Sprintf("%s: variances about %g", what, offset), got[c.k:], want[c.k:], 2e-6, 0)
	}
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
		e := device.GradEpilogue{Mask: mask, Sums: dbias}
		s.b.ReluGrad(dx, up, e, acc)
		s.equal(fmt.Sprint("dx ", m), dx, want.V)
		s.same(fmt.Sprint("sums ", m), dbias, bias.V, 2e-6)
		dx = s.alloc(s.dtype, m[0], m[1])
		s.b.ReluGrad(dx, up, device.GradEpilogue{Mask: mask}, 0)
		s.equal(fmt.Sprint("without sums ", m), dx, want.V)
		e.Sums = s.put(device.F32, old)
		s.b.ReluGrad(absent, up, e, acc)
		s.same(fmt.Sprint("without dx ", m), e.Sums, bias.V, 2e-6)
		s.reluGradAlong(m, up, mask, want)
		s.b.ReluGrad(up, up, device.GradEpilogue{Mask: mask}, 0)
		s.equal(fmt.Sprint("in place ", m), up, want.V)
	}
}

// reluGradAlong tests an addition and the sums along x. want is the gradient without them.
func (s *suite) reluGradAlong(m [2]int, up, mask device.Array, want *array) {
	x, mean, add := s.activation(m[0], m[1]), s.master(m[1]), s.activation(m[0], m[1])
	e := device.GradEpilogue{
		Add: s.put(s.dtype, add), Mask: mask, X: s.put(s.dtype, x), Mean: s.put(device.F32, mean),
		Sums: s.alloc(device.F32, 2, m[1]),
	}
	dx, y := s.alloc(s.dtype, m[0], m[1]), s.get(mask)
	s.b.ReluGrad(dx, up, e, 0)
	sum := want.Clone()
	for i := range sum.V {
		if y[i] > 0 {
			sum.V[i] += add.V[i]
		}
	}
	s.same(fmt.Sprint("added ", m), dx, sum.V, 1e-7)
	sums := alongSums(s.get(dx), x.V, mean.V)
	s.near(fmt.Sprint("sums along x ", m), s.get(e.Sums), sums, 2e-6, sumRounding(s.get(dx), x, mean))
	without := s.alloc(s.dtype, m[0], m[1])
	s.b.ReluGrad(without, up, device.GradEpilogue{Add: e.Add, Mask: mask}, 0)
	s.equal(fmt.Sprint("added without sums ", m), without, s.get(dx))
}

// sumRounding returns the error that alongSums of v may have if partial sums are F32.
func sumRounding(v []float64, x, mean *array) float64 {
	return 0x1p-24 * length(v) * (1 + length(x.V)/math.Sqrt(float64(len(x.V))) + length(mean.V))
}

// alongSums returns Σ v and Σ v·(x − mean) of each column.
func alongSums(v, x, mean []float64) []float64 {
	c := len(mean)
	sums := make([]float64, 2*c)
	for i, u := range v {
		sums[i%c] += u
		sums[c+i%c] += u * (x[i] - mean[i%c])
	}
	return sums
}
