package vec

//go:noescape
func powerSumsAVX2(sum, along *float64, x *float32, n int, p, eps float64)

//go:noescape
func powerScaleAVX2(dst, x *float32, k *float64, n int, q, eps float64)

// Each function returns the number of elements it has processed.

func powerSumsFast(sum, along []float64, x []float32, p, eps float64) int {
	n := whole4(len(x))
	if n > 0 {
		powerSumsAVX2(at(sum), at(along), at(x), n, p, eps)
	}
	return n
}

func powerScaleFast(dst, x []float32, k []float64, q, eps float64) int {
	n := whole4(len(x))
	if n > 0 {
		powerScaleAVX2(at(dst), at(x), at(k), n, q, eps)
	}
	return n
}
