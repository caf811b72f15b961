package vec

//go:noescape
func columnSumsAVX2(sum *float64, x *float32, rows, cols, stride int, squares bool)

//go:noescape
func columnMomentsAVX2(sum, squares *float64, shift, x *float32, rows, cols, stride int)

//go:noescape
func affineAVX2(dst, x, residual, mean, scale, shift *float32, rows, cols, stride int, rectify bool)

//go:noescape
func normSumsAVX2(along, sum *float64, kept, dy, x, y, mean *float32, rows, cols, stride int)

//go:noescape
func normBackAVX2(dx, dy, x, y, mean, scale, along, offset *float32, rows, cols, stride int)

// Each function returns the number of columns it has processed.

func columnSumsFast(sum []float64, x []float32, rows, stride int, squares bool) int {
	n := whole8(len(sum))
	if n > 0 {
		columnSumsAVX2(at(sum), at(x), rows, n, stride, squares)
	}
	return n
}

func columnMomentsFast(sum, squares []float64, shift, x []float32) int {
	c := len(shift)
	n := whole8(c)
	if n > 0 {
		columnMomentsAVX2(at(sum), at(squares), at(shift), at(x), len(x)/c, n, c)
	}
	return n
}

func affineFast(dst, x, residual, mean, scale, shift []float32, rectify bool) int {
	c := len(mean)
	n := whole8(c)
	if n > 0 {
		affineAVX2(at(dst), at(x), at(residual), at(mean), at(scale), at(shift), len(x)/c, n, c, rectify)
	}
	return n
}

func normSumsFast(along, sum []float64, kept, dy, x, y, mean []float32) int {
	c := len(mean)
	n := whole8(c)
	if n > 0 {
		normSumsAVX2(at(along), at(sum), at(kept), at(dy), at(x), at(y), at(mean), len(x)/c, n, c)
	}
	return n
}

func normBackFast(dx, dy, x, y, mean, scale, along, offset []float32) int {
	c := len(mean)
	n := whole8(c)
	if n > 0 {
		normBackAVX2(at(dx), at(dy), at(x), at(y), at(mean), at(scale), at(along), at(offset), len(x)/c, n, c)
	}
	return n
}
