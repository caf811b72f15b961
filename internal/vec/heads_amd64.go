package vec

//go:noescape
func headDotsAVX2(dst, q, k *float32, heads, size int)

//go:noescape
func headMixAVX2(dst, p, v *float32, heads, size int)

// Each function processes all heads, or none if a head does not fill whole vectors.

func headDotsFast(dst, q, k []float32, size int) bool {
	if n := whole8(size); n == 0 || n != size {
		return false
	}
	headDotsAVX2(at(dst), at(q), at(k), len(dst), size)
	return true
}

func headMixFast(dst, p, v []float32, size int) bool {
	if n := whole8(size); n == 0 || n != size {
		return false
	}
	headMixAVX2(at(dst), at(p), at(v), len(p), size)
	return true
}
