package devicetest

import (
	"fmt"
	"math"

	"hgld/train/device"
)

// normTolerance: float32 sums of up to 1,025 squares, then a division.
const normTolerance = 1e-6

func normalized(x *array, eps float64) (y *array, norm []float64) {
	y, norm = zeros(x.dims...), make([]float64, x.rows())
	for i := range norm {
		n := 0.0
		for _, v := range x.row(i) {
			n += v * v
		}
		n = math.Sqrt(n)
		norm[i] = n
		if n < eps {
			n, norm[i] = eps, -eps
		}
		for j, v := range x.row(i) {
			y.row(i)[j] = v / n
		}
	}
	return y, norm
}

func testNormalize(s *suite) {
	for i, m := range matrices {
		x, dy := s.activation(m[0], m[1]), s.activation(m[0], m[1])
		if m[1] > 1 {
			clear(x.row(m[0] - 1)) // a row below eps
		}
		const eps = 1e-3
		put, y, dx := s.put, s.alloc(s.dtype, m[0], m[1]), s.alloc(s.dtype, m[0], m[1])
		if i%2 == 0 {
			put, y, dx = s.putView, s.view(s.dtype, m[0], m[1]), s.view(s.dtype, m[0], m[1])
		}
		norm := s.alloc(device.F32, m[0])
		s.b.Normalize(y, norm, put(s.dtype, x), eps)
		wantY, wantNorm := normalized(x, eps)
		s.same(fmt.Sprint(m), y, wantY.v, normTolerance)
		s.same(fmt.Sprint("norms ", m), norm, wantNorm, normTolerance)
		s.b.NormalizeGrad(dx, put(s.dtype, dy), y, norm)
		s.gradient(fmt.Sprint("gradient ", m), s.get(dx), x, func() float64 {
			y, _ := normalized(x, eps)
			return weighted(dy, y)
		}, max(1e-5, 8*s.unit(s.dtype)))
	}
}

func layerNorm(x, gamma, beta *array, eps float64) (y *array, stats []float64) {
	y = zeros(x.dims...)
	for i := range x.rows() {
		mean, variance, n := 0.0, 0.0, float64(x.cols())
		for _, v := range x.row(i) {
			mean += v / n
		}
		for _, v := range x.row(i) {
			variance += (v - mean) * (v - mean) / n
		}
		r := 1 / math.Sqrt(variance+eps)
		stats = append(stats, mean, r)
		for j, v := range x.row(i) {
			y.row(i)[j] = (v-mean)*r*at(gamma, j, 1) + at(beta, j, 0)
		}
	}
	return y, stats
}

// at is element j of a, or what an absent array stands for.
func at(a *array, j int, otherwise float64) float64 {
	if a == nil {
		return otherwise
	}
	return a.v[j]
}

func testLayerNorm(s *suite) {
	for i, m := range matrices {
		if m[1] == 1 {
			continue // x̂ is 0 and its gradient is the difference of equal numbers
		}
		const eps = 1e-5
		x, dy := s.activation(m[0], m[1]), s.activation(m[0], m[1])
		var gamma, beta *array
		var dGamma, dBeta, gotGamma, gotBeta device.Array
		acc := float32(i % 2)
		oldGamma, oldBeta := s.master(m[1]), s.master(m[1])
		if i%3 != 0 {
			gamma, beta = s.master(m[1]), s.master(m[1])
			dGamma, dBeta = s.put(device.F32, gamma), s.put(device.F32, beta)
			gotGamma, gotBeta = s.put(device.F32, oldGamma), s.put(device.F32, oldBeta)
		}
		put, y, dx := s.put, s.alloc(s.dtype, m[0], m[1]), s.alloc(s.dtype, m[0], m[1])
		if i%2 == 0 {
			put, y, dx = s.putView, s.view(s.dtype, m[0], m[1]), s.view(s.dtype, m[0], m[1])
		}
		stats, deviceX := s.alloc(device.F32, m[0], 2), put(s.dtype, x)
		s.b.LayerNorm(y, stats, deviceX, dGamma, dBeta, eps)
		want, wantStats := layerNorm(x, gamma, beta, eps)
		s.same(fmt.Sprint(m), y, want.v, 2e-6)
		s.same(fmt.Sprint("statistics ", m), stats, wantStats, 2e-6)
		s.b.LayerNormGrad(dx, gotGamma, gotBeta, put(s.dtype, dy), deviceX, dGamma, stats, acc)
		loss := func() float64 {
			y, _ := layerNorm(x, gamma, beta, eps)
			return weighted(dy, y)
		}
		tolerance := max(1e-5, 8*s.unit(s.dtype))
		if m[1] > 2 { // two values are ±1 whatever they are: the gradient is nearly 0
			s.gradient(fmt.Sprint("dx ", m), s.get(dx), x, loss, tolerance)
		}
		if gamma != nil {
			s.gradient(fmt.Sprint("dgamma ", m), s.minus(gotGamma, oldGamma, acc), gamma, loss, tolerance)
			s.gradient(fmt.Sprint("dbeta ", m), s.minus(gotBeta, oldBeta, acc), beta, loss, tolerance)
		}
	}
}

// minus downloads a gradient that was added to acc·old, and takes that away.
func (s *suite) minus(got device.Array, old *array, acc float32) []float64 {
	s.Helper()
	v := s.get(got)
	for i := range v {
		v[i] -= float64(acc) * old.v[i]
	}
	return v
}
