package vec

//go:noescape
func geluAVX2(dst, x *float32, n int)

//go:noescape
func geluGradAVX2(dx, dy, x *float32, n int)

//go:noescape
func gateAVX2(dst, x *float32, n int, a, b float64)

//go:noescape
func gateGradAVX2(dx, dy, x *float32, n int, a, b float64)

// Each function returns the number of elements it has processed.

func geluFast(dst, x []float32) int {
	n := whole8(len(x))
	if n > 0 {
		geluAVX2(at(dst), at(x), n)
	}
	return n
}

func geluGradFast(dx, dy, x []float32) int {
	n := whole8(len(x))
	if n > 0 {
		geluGradAVX2(at(dx), at(dy), at(x), n)
	}
	return n
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
