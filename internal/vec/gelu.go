package vec

import "math"

// GELU computes dst = x·Φ(x) in float32, where Φ is the normal distribution function
// (Hendrycks and Gimpel, arXiv 1606.08415). The error is at most 6 ulp for x > 0 and 9 ulp for
// x < 0, where 1 + erf(x/√2) would lose all digits. −Inf gives NaN, as the product does.
func GELU(dst, x []float32) {
	dst = dst[:len(x)]
	n := geluFast(dst, x)
	for i, v := range x[n:] {
		phi, _ := normal(v)
		dst[n+i] = v * phi
	}
}

// GELUGrad computes dx = dy·(Φ(x) + x·φ(x)), where φ is the normal density. The error is
// 2.1e-7 of dy plus the rounding of the product.
func GELUGrad(dx, dy, x []float32) {
	dx, dy = dx[:len(x)], dy[:len(x)]
	n := geluGradFast(dx, dy, x)
	for i, v := range x[n:] {
		phi, slope := normal(v)
		dx[n+i] = dy[n+i] * (phi + slope)
	}
}

// Constants of the normal distribution. With u = (a−4)/(a+4) the polynomial is the minimax fit
// of (a+4)·Φ(−a)·e^(a²/2) for 0 ≤ a ≤ 15, with a relative error of 9e-9.
const (
	normalEnd  = 15 // Φ(−15) is 0 in float32
	invRoot2Pi = 0.3989422804014327
	phi0       = 0.7552851438522339
	phi1       = -0.6078965663909912
	phi2       = 0.38713690638542175
	phi3       = -0.1865236610174179
	phi4       = 0.0604034885764122
	phi5       = -0.007524004206061363
	phi6       = -0.0035102106630802155
	phi7       = 0.001568408333696425
	phi8       = 0.0001746589841786772
	phi9       = -0.00013419649621937424

	// upperHalf keeps 12 bits of a float32, so that their square is exact. The small remainder
	// of a² enters the exponential separately.
	upperHalf = 0xfffff000
)

// normal returns Φ(x) and x·φ(x).
func normal(x float32) (phi, slope float32) {
	a := min(math.Float32frombits(math.Float32bits(x)&^(1<<31)), normalEnd)
	high := math.Float32frombits(math.Float32bits(a) & upperHalf)
	e := expLess(float32(high*high)*-0.5, float32(float32((a-high)*(a+high))*0.5))
	inv := 1 / (a + 4)
	u := float32((a - 4) * inv)
	p := float32(u*phi9) + phi8
	p = float32(p*u) + phi7
	p = float32(p*u) + phi6
	p = float32(p*u) + phi5
	p = float32(p*u) + phi4
	p = float32(p*u) + phi3
	p = float32(p*u) + phi2
	p = float32(p*u) + phi1
	p = float32(p*u) + phi0
	phi = float32(float32(p*inv) * e)
	if x < 0 {
		a = -a
	} else {
		phi = 1 - phi
	}
	return phi, float32(float32(a*e) * invRoot2Pi)
}
