package vec

// PowerSums adds v^p to sum and v^p·ln v to along, element by element, where v = max(x, eps).
// It computes in float64 with an error of 1e-12·(1 + |p ln v|). eps must be positive and
// normal. NaN propagates.
func PowerSums(sum, along []float64, x []float32, p, eps float64) {
	sum, along = sum[:len(x)], along[:len(x)]
	n := powerSumsFast(sum, along, x, p, eps)
	for i, v := range x[n:] {
		l := logWide(max(float64(v), eps))
		w := expWide(float64(l * p))
		sum[n+i] += w
		along[n+i] += float64(w * l)
	}
}

// PowerScale computes dst = k·x^q if x is at least eps, else 0.
func PowerScale(dst, x []float32, k []float64, q, eps float64) {
	dst, k = dst[:len(x)], k[:len(x)]
	n := powerScaleFast(dst, x, k, q, eps)
	for i, v := range x[n:] {
		d := 0.0
		if float64(v) >= eps {
			d = k[n+i] * expWide(float64(logWide(float64(v))*q))
		}
		dst[n+i] = float32(d)
	}
}
