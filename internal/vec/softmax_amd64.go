package vec

//go:noescape
func expScaledAVX2(dst, x *float32, n int, top, scale float64, s *[8]float64)

// expScaledFast returns the number of elements it has processed.
func expScaledFast(dst, x []float32, top, scale float64, s *[8]float64) int {
	n := whole8(len(x))
	if n > 0 {
		expScaledAVX2(at(dst), at(x), n, top, scale, s)
	}
	return n
}
