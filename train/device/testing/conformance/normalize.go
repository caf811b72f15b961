package conformance

import (
	"fmt"
	"slices"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// normTolerance allows float32 sums of up to 1,025 squares, followed by a division.
const normTolerance = 1e-6

func testNormalize(s *suite) {
	for i, m := range matrices {
		x, dy := s.activation(m[0], m[1]), s.activation(m[0], m[1])
		if m[1] > 1 {
			clear(x.Row(m[0] - 1)) // norm below eps
		}
		const eps = 1e-3
		put, alloc := s.forms(i%2 == 0)
		y, dx := alloc(s.dtype, m[0], m[1]), alloc(s.dtype, m[0], m[1])
		norm := s.alloc(device.F32, m[0])
		s.b.Normalize(y, norm, put(s.dtype, x), eps)
		wantY, wantNorm := reference.Normalize(x, eps)
		s.same(fmt.Sprint(m), y, wantY.V, normTolerance)
		s.same(fmt.Sprint("norms ", m), norm, wantNorm, normTolerance)
		s.b.NormalizeGrad(dx, put(s.dtype, dy), y, norm)
		s.gradient(fmt.Sprint("gradient ", m), s.get(dx), x, func() float64 {
			y, _ := reference.Normalize(x, eps)
			return weighted(dy, y)
		}, max(1e-5, 8*s.unit(s.dtype)))
	}
}

// heldRows are matrices whose rows a backend may keep in registers in BF16, if they have no gaps and there is a γ.
var heldRows = [][2]int{{5, 96}, {33, 96}, {130, 128}, {3, 384}, {34, 384}}

func testLayerNorm(s *suite) {
	for i, m := range slices.Concat(matrices, heldRows) {
		if m[1] == 1 {
			continue // x̂ is 0, and its gradient is the difference of equal numbers
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
		put, alloc := s.forms(i%2 == 0)
		y, dx := alloc(s.dtype, m[0], m[1]), alloc(s.dtype, m[0], m[1])
		stats, deviceX := s.alloc(device.F32, m[0], 2), put(s.dtype, x)
		s.b.LayerNorm(y, stats, deviceX, dGamma, dBeta, eps)
		want, wantStats := reference.LayerNorm(x, gamma, beta, eps)
		s.same(fmt.Sprint(m), y, want.V, 2e-6)
		s.same(fmt.Sprint("statistics ", m), stats, wantStats, 2e-6)
		add, addend := absent, zeros(m[0], m[1])
		switch i % 5 {
		case 0: // onto dx itself
			addend = s.activation(m[0], m[1])
			s.b.Upload(dx, encode(s.dtype, addend.V))
			add = dx
		case 2, 4:
			addend = s.activation(m[0], m[1])
			add = put(s.dtype, addend)
		}
		s.b.LayerNormGrad(dx, gotGamma, gotBeta, put(s.dtype, dy), deviceX, dGamma, stats, add, acc)
		loss := func() float64 {
			y, _ := reference.LayerNorm(x, gamma, beta, eps)
			return weighted(dy, y)
		}
		tolerance := max(1e-5, 8*s.unit(s.dtype))
		if m[1] > 2 { // two values always become ±1, so the gradient is nearly 0
			s.gradient(fmt.Sprint("dx ", m), s.minus(dx, addend, 1), x, loss, tolerance)
		}
		if gamma != nil {
			s.gradient(fmt.Sprint("dgamma ", m), s.minus(gotGamma, oldGamma, acc), gamma, loss, tolerance)
			s.gradient(fmt.Sprint("dbeta ", m), s.minus(gotBeta, oldBeta, acc), beta, loss, tolerance)
		}
	}
}

// minus downloads a gradient that was added to acc·old, and subtracts acc·old.
func (s *suite) minus(got device.Array, old *array, acc float32) []float64 {
	s.Helper()
	v := s.get(got)
	for i := range v {
		v[i] -= float64(acc) * old.V[i]
	}
	return v
}
