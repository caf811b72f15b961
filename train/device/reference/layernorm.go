package reference

import "math"

// LayerNorm normalises each row of x by its mean and biased variance. gamma and beta [cols] may
// be nil. stats holds the mean and 1/√(variance+eps) of each row.
func LayerNorm(x, gamma, beta *Array, eps float64) (y *Array, stats []float64) {
	y = Zeros(x.Dims...)
	for i := range x.Rows() {
		mean, variance, n := 0.0, 0.0, float64(x.Cols())
		for _, v := range x.Row(i) {
			mean += v / n
		}
		for _, v := range x.Row(i) {
			variance += (v - mean) * (v - mean) / n
		}
		r := 1 / math.Sqrt(variance+eps)
		stats = append(stats, mean, r)
		for j, v := range x.Row(i) {
			y.Row(i)[j] = (v-mean)*r*at(gamma, j, 1) + at(beta, j, 0)
		}
	}
	return y, stats
}
