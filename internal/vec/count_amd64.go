package vec

//go:noescape
func countAboveAVX2(x *float32, n int, t float32) (above, equal int)

func countAboveFast(x []float32, t float32) (n, above, equal int) {
	if n = whole8(min(len(x), 1<<31)); n > 0 { // the lanes have 32 bits
		above, equal = countAboveAVX2(at(x), n, t)
	}
	return n, above, equal
}
