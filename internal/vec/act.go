package vec

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
