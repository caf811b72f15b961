package vec

import "math"

// GELU is dst = x·Φ(x), Φ the normal distribution function (Hendrycks and Gimpel,
// arXiv 1606.08415), computed in float64 and rounded: within 0.52 ulp. −Inf gives
// NaN, as the product does.
func GELU(dst, x []float32) {
	dst = dst[:len(x)]
	n := geluFast(dst, x)
	for i, v := range x[n:] {
		phi, _ := normal(float64(v))
		dst[n+i] = float32(float64(v) * phi)
	}
}

// GELUGrad is dx = dy·(Φ(x) + x·φ(x)), φ the normal density, in float64: its
// error is 1e-9 of dy besides the rounding.
func GELUGrad(dx, dy, x []float32) {
	dx, dy = dx[:len(x)], dy[:len(x)]
	n := geluGradFast(dx, dy, x)
	for i, v := range x[n:] {
		phi, slope := normal(float64(v))
		dx[n+i] = float32(float64(dy[n+i]) * (phi + slope))
	}
}

// Constants of the normal distribution: with u = (a−4)/(a+4) the polynomial is the
// least-maximum fit of (a+4)·Φ(−a)·e^(a²/2) for 0 ≤ a ≤ 40, relative error 6e-10.
const (
	normalEnd  = 40 // Φ(−40) is 0 in float32
	invRoot2Pi = 0.3989422804014327
	phi0       = 0.7552851303100234
	phi1       = -0.6078966360644948
	phi2       = 0.3871374067492799
	phi3       = -0.18652205189131785
	phi4       = 0.06039652864716116
	phi5       = -0.007538395893831928
	phi6       = -0.0034795966594584377
	phi7       = 0.0016237345759840868
	phi8       = 0.00013326626818850582
	phi9       = -0.00021735383515557527
	phi10      = -1.6179552691613588e-06
	phi11      = 2.182160393927296e-05
)

// normal returns Φ(x) and x·φ(x).
func normal(x float64) (phi, slope float64) {
	a := min(math.Abs(x), normalEnd)
	inv := 1 / (a + 4)
	u := 1 - float64(8*inv)
	e := expWide(float64(a*a) * -0.5)
	p := float64(u*phi11) + phi10
	p = float64(p*u) + phi9
	p = float64(p*u) + phi8
	p = float64(p*u) + phi7
	p = float64(p*u) + phi6
	p = float64(p*u) + phi5
	p = float64(p*u) + phi4
	p = float64(p*u) + phi3
	p = float64(p*u) + phi2
	p = float64(p*u) + phi1
	p = float64(p*u) + phi0
	phi = float64(float64(p*inv) * e)
	if !(x < 0) {
		phi = 1 - phi
	}
	return phi, float64(float64(math.Copysign(a, x)*e) * invRoot2Pi)
}

// Gate is dst = x·σ(x·(a + b·x²)), σ the logistic function, in float64 and rounded:
// GELU by tanh is a = 2√(2/π), b = 0.044715·a; QuickGELU is a = 1.702, b = 0.
// Within 0.52 ulp where σ does not underflow. −Inf gives NaN.
func Gate(dst, x []float32, a, b float64) {
	dst = dst[:len(x)]
	n := gateFast(dst, x, a, b)
	for i, v := range x[n:] {
		s, _ := gate(float64(v), a, b)
		dst[n+i] = float32(float64(v) * s)
	}
}

// GateGrad is dx = dy·(s + x·s(1−s)·(a + 3b·x²)), s the σ of Gate.
func GateGrad(dx, dy, x []float32, a, b float64) {
	dx, dy = dx[:len(x)], dy[:len(x)]
	n := gateGradFast(dx, dy, x, a, b)
	for i, v := range x[n:] {
		s, slope := gate(float64(v), a, b)
		dx[n+i] = float32(float64(dy[n+i]) * (s + slope))
	}
}

// gateEnd bounds x, so that an infinity makes no NaN of b = 0; σ is 0 or 1 there.
const gateEnd = 1e4

func gate(x, a, b float64) (s, slope float64) {
	x = min(max(x, -gateEnd), gateEnd)
	bend := float64(float64(x*x) * b)
	s = 1 / (1 + expWide(-float64(x*(bend+a))))
	return s, float64(float64(float64(x*s)*(1-s)) * (float64(bend*3) + a))
}
