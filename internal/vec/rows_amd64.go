package vec

//go:noescape
func sumAVX2(x *float32, n int, s *lanes)

//go:noescape
func dotAVX2(x, y *float32, n int, s *lanes)

//go:noescape
func spreadAVX2(x *float32, n int, mean float64, s *lanes)

//go:noescape
func layerRowAVX2(dst, x, gamma, beta *float32, n int, mean, r float64)

//go:noescape
func layerSumsAVX2(dgamma, dbeta *float64, dy, x, gamma *float32, n int, mean, r float64, s, a *[8]float64)

//go:noescape
func layerBackAVX2(dx, dy, x, gamma *float32, n int, mean, r, sum, along float64)

// Each function returns the number of elements it has processed.

func sumFast(x []float32, s *lanes) int {
	n := whole8(len(x)) &^ 15
	if n > 0 {
		sumAVX2(at(x), n, s)
	}
	return n
}

func dotFast(x, y []float32, s *lanes) int {
	n := whole8(len(x)) &^ 15
	if n > 0 {
		dotAVX2(at(x), at(y), n, s)
	}
	return n
}

func spreadFast(x []float32, mean float64, s *lanes) int {
	n := whole8(len(x)) &^ 15
	if n > 0 {
		spreadAVX2(at(x), n, mean, s)
	}
	return n
}

func layerRowFast(dst, x, gamma, beta []float32, mean, r float64) int {
	n := whole8(len(x))
	if n > 0 {
		layerRowAVX2(at(dst), at(x), at(gamma), at(beta), n, mean, r)
	}
	return n
}

func layerSumsFast(dgamma, dbeta []float64, dy, x, gamma []float32, mean, r float64, s, a *[8]float64) int {
	n := whole8(len(x))
	if n > 0 {
		layerSumsAVX2(at(dgamma), at(dbeta), at(dy), at(x), at(gamma), n, mean, r, s, a)
	}
	return n
}

func layerBackFast(dx, dy, x, gamma []float32, mean, r, sum, along float64) int {
	n := whole8(len(x))
	if n > 0 {
		layerBackAVX2(at(dx), at(dy), at(x), at(gamma), n, mean, r, sum, along)
	}
	return n
}
