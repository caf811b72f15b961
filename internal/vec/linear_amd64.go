package vec

//go:noescape
func axpbyAVX2(dst, x, y *float32, n int, a, b float32)

//go:noescape
func scaleAVX2(dst, x *float32, n int, a float32)

//go:noescape
func scaleWideAVX2(dst, x *float32, n int, a float64)

//go:noescape
func reluAVX2(dst, x *float32, n int)

//go:noescape
func maskAVX2(dst, d, x *float32, n int)

//go:noescape
func maximumAVX2(dst, x *float32, n int)

//go:noescape
func routeAVX2(dst, rest, x, best *float32, n int)

//go:noescape
func nonFiniteAVX2(x *float32, n int) int

// Each function returns the number of elements it has processed.

func axpbyFast(dst []float32, a float32, x []float32, b float32, y []float32) int {
	n := whole8(len(x))
	if n > 0 {
		axpbyAVX2(at(dst), at(x), at(y), n, a, b)
	}
	return n
}

func scaleFast(dst []float32, a float32, x []float32) int {
	n := whole8(len(x))
	if n > 0 {
		scaleAVX2(at(dst), at(x), n, a)
	}
	return n
}

func scaleWideFast(dst []float32, a float64, x []float32) int {
	n := whole8(len(x))
	if n > 0 {
		scaleWideAVX2(at(dst), at(x), n, a)
	}
	return n
}

func reluFast(dst, x []float32) int {
	n := whole8(len(x))
	if n > 0 {
		reluAVX2(at(dst), at(x), n)
	}
	return n
}

func maskFast(dst, d, x []float32) int {
	n := whole8(len(x))
	if n > 0 {
		maskAVX2(at(dst), at(d), at(x), n)
	}
	return n
}

func maximumFast(dst, x []float32) int {
	n := whole8(len(x))
	if n > 0 {
		maximumAVX2(at(dst), at(x), n)
	}
	return n
}

func routeFast(dst, rest, x, best []float32) int {
	n := whole8(len(x))
	if n > 0 {
		routeAVX2(at(dst), at(rest), at(x), at(best), n)
	}
	return n
}

func nonFiniteFast(x []float32) (n, count int) {
	n = whole8(len(x))
	if n > 0 {
		count = nonFiniteAVX2(at(x), n)
	}
	return n, count
}
