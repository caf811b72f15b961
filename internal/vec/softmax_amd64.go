package vec

//go:noescape
func expScaledAVX2(dst, x *float32, n int, top, scale float64, s *[8]float64)

//go:noescape
func mulAddAVX2(x *float32, n int, a, b float64)

// Each function returns the number of elements it has processed.

func expScaledFast(dst, x []float32, top, scale float64, s *[8]float64) int {
	n := whole8(len(x))
	if n > 0 {
		expScaledAVX2(at(dst), at(x), n, top, scale, s)
	}
	return n
}

func mulAddFast(x []float32, a, b float64) int {
	n := whole8(len(x))
	if n > 0 {
		mulAddAVX2(at(x), n, a, b)
	}
	return n
}
