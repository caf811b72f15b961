package vec

// ExpScaled computes dst = e^((x − top)·scale) in float64 and returns the sum of the results
// before they are rounded to float32. With the maximum of x as top, these are the numerators
// and the denominator of a softmax of temperature 1/scale. The relative error of a result is
// 2e-12 and half an ulp. dst may be x. The sum of an empty x is 0.
func ExpScaled(dst, x []float32, top, scale float64) float64 {
	dst = dst[:len(x)]
	var s [8]float64
	for i := expScaledFast(dst, x, top, scale, &s); i < len(x); i++ {
		e := expWide(float64((float64(x[i]) - top) * scale))
		dst[i] = float32(e)
		s[i&7] += e
	}
	return join8(&s)
}
