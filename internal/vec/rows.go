package vec

// Sum returns Σ x in float64.
func Sum(x []float32) float64 {
	var s lanes
	n := sumFast(x, &s)
	for i, v := range x[n:] {
		s[i&15] += float64(v)
	}
	return s.join()
}

// Dot returns Σ x·y in float64. Dot(x, x) is the sum of squares.
func Dot(x, y []float32) float64 {
	var s lanes
	y = y[:len(x)]
	n := dotFast(x, y, &s)
	for i, v := range x[n:] {
		s[i&15] += float64(v) * float64(y[n+i])
	}
	return s.join()
}

// Spread returns Σ (x − mean)² in float64.
func Spread(x []float32, mean float64) float64 {
	var s lanes
	n := spreadFast(x, mean, &s)
	for i, v := range x[n:] {
		d := float64(v) - mean
		s[i&15] += float64(d * d)
	}
	return s.join()
}

// LayerRow computes layer normalisation of one row with given statistics, in float64:
//
//	dst = (x − mean)·r·γ + β
func LayerRow(dst, x, gamma, beta []float32, mean, r float64) {
	dst, gamma, beta = dst[:len(x)], gamma[:len(x)], beta[:len(x)]
	n := layerRowFast(dst, x, gamma, beta, mean, r)
	for i := n; i < len(x); i++ {
		hat := float64((float64(x[i]) - mean) * r)
		dst[i] = float32(float64(hat*float64(gamma[i])) + float64(beta[i]))
	}
}

// LayerSums is the first pass of the gradient of LayerRow. With x̂ = (x − mean)·r
// and g = γ·dy it adds dy·x̂ to dgamma and dy to dbeta, and returns Σ g and Σ g·x̂.
func LayerSums(dgamma, dbeta []float64, dy, x, gamma []float32, mean, r float64) (sum, along float64) {
	var s, a [8]float64
	dy, gamma, dgamma, dbeta = dy[:len(x)], gamma[:len(x)], dgamma[:len(x)], dbeta[:len(x)]
	n := layerSumsFast(dgamma, dbeta, dy, x, gamma, mean, r, &s, &a)
	for i := n; i < len(x); i++ {
		d, hat := float64(dy[i]), (float64(x[i])-mean)*r
		dgamma[i] += float64(d * hat)
		dbeta[i] += d
		g := d * float64(gamma[i])
		s[i&7] += g
		a[i&7] += float64(g * hat)
	}
	return join8(&s), join8(&a)
}

func join8(s *[8]float64) float64 {
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

// LayerBack is the second pass. It computes dx = r·(γ·dy − sum − x̂·along).
func LayerBack(dx, dy, x, gamma []float32, mean, r, sum, along float64) {
	dx, dy, gamma = dx[:len(x)], dy[:len(x)], gamma[:len(x)]
	n := layerBackFast(dx, dy, x, gamma, mean, r, sum, along)
	for i := n; i < len(x); i++ {
		hat := (float64(x[i]) - mean) * r
		dx[i] = float32(r * (float64(float64(dy[i])*float64(gamma[i])) - sum - float64(hat*along)))
	}
}
