package vec

//go:noescape
func adamAVX2(w, m, v, dw *float32, n int, o *AdamStep)

//go:noescape
func sgdAVX2(w, m, dw *float32, n int, o *SGDStep)

//go:noescape
func approachAVX2(dst, x *float32, n int, rate float64)

// Each function returns the number of elements it has processed.

func adamFast(w, m, v, dw []float32, o *AdamStep) int {
	n := whole4(len(w))
	if n > 0 {
		adamAVX2(at(w), at(m), at(v), at(dw), n, o)
	}
	return n
}

func sgdFast(w, m, dw []float32, o *SGDStep) int {
	n := whole4(len(w))
	if n > 0 {
		sgdAVX2(at(w), at(m), at(dw), n, o)
	}
	return n
}

func approachFast(dst, x []float32, rate float64) int {
	n := whole4(len(dst))
	if n > 0 {
		approachAVX2(at(dst), at(x), n, rate)
	}
	return n
}
