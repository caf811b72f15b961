package vec

// Gate computes dst = x·σ(x·(a + b·x²)) in float64 and rounds it; σ is the logistic function.
// The tanh form of GELU has a = 2√(2/π), b = 0.044715·a; QuickGELU has a = 1.702, b = 0. The
// error is at most 0.52 ulp if σ does not underflow. −Inf gives NaN.
func Gate(dst, x []float32, a, b float64) {
	dst = dst[:len(x)]
	n := gateFast(dst, x, a, b)
	for i, v := range x[n:] {
		s, _ := gate(float64(v), a, b)
		dst[n+i] = float32(float64(v) * s)
	}
}

// GateGrad computes dx = dy·(s + x·s(1−s)·(a + 3b·x²)), where s is the σ of Gate.
func GateGrad(dx, dy, x []float32, a, b float64) {
	dx, dy = dx[:len(x)], dy[:len(x)]
	n := gateGradFast(dx, dy, x, a, b)
	for i, v := range x[n:] {
		s, slope := gate(float64(v), a, b)
		dx[n+i] = float32(float64(dy[n+i]) * (s + slope))
	}
}

// gateEnd bounds x, since an infinity times b = 0 would be NaN. σ is 0 or 1 at the bound.
const gateEnd = 1e4

func gate(x, a, b float64) (s, slope float64) {
	x = min(max(x, -gateEnd), gateEnd)
	bend := float64(float64(x*x) * b)
	s = 1 / (1 + expWide(-float64(x*(bend+a))))
	return s, float64(float64(float64(x*s)*(1-s)) * (float64(bend*3) + a))
}
