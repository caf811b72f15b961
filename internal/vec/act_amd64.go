package vec

//go:noescape
func geluAVX2(dst, x *float32, n int)

//go:noescape
func geluGradAVX2(dx, dy, x *float32, n int)

//go:noescape
func geluAVX512(dst, x *float32, n int)

//go:noescape
func geluGradAVX512(dx, dy, x *float32, n int)

//go:noescape
func gateAVX2(dst, x *float32, n int, a, b float64)

//go:noescape
func gateGradAVX2(dx, dy, x *float32, n int, a, b float64)

// Each function returns the number of elements it has processed.

func geluFast(dst, x []float32) int {
	n, m := whole16(len(x)), whole8(len(x))
	if n > 0 {
		geluAVX512(at(dst), at(x), n)
	}
	if n < m {
		geluAVX2(at(dst[n:]), at(x[n:]), m-n)
	}
	return m
}

func geluGradFast(dx, dy, x []float32) int {
	n, m := whole16(len(x)), whole8(len(x))
	if n > 0 {
		geluGradAVX512(at(dx), at(dy), at(x), n)
	}
	if n < m {
		geluGradAVX2(at(dx[n:]), at(dy[n:]), at(x[n:]), m-n)
	}
	return m
}

func gateFast(dst, x []float32, a, b float64) int {
	n := whole4(len(x))
	if n > 0 {
		gateAVX2(at(dst), at(x), n, a, b)
	}
	return n
}

func gateGradFast(dx, dy, x []float32, a, b float64) int {
	n := whole4(len(x))
	if n > 0 {
		gateGradAVX2(at(dx), at(dy), at(x), n, a, b)
	}
	return n
}
