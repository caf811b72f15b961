package reference

import (
	"math"

	"hgld/train/device"
)

// Norm is batch normalisation over all but the last axis, followed by residual and ReLU. given
// holds the mean and then the variance of each channel; nil means those of x. gamma, beta and
// residual may be nil. stats are the statistics used.
func Norm(x, gamma, beta, residual *Array, given []float64, o device.NormKind) (y *Array, stats []float64) {
	c, n := x.Cols(), float64(x.Rows())
	stats = given
	if given == nil {
		stats = make([]float64, 2*c)
		for i, v := range x.V {
			stats[i%c] += v / n
		}
		for i, v := range x.V {
			d := v - stats[i%c]
			stats[c+i%c] += d * d / n
		}
	}
	y = Zeros(x.Dims...)
	for i, v := range x.V {
		j := i % c
		z := (v-stats[j])/math.Sqrt(stats[c+j]+float64(o.Eps))*at(gamma, j, 1) + at(beta, j, 0)
		if residual != nil {
			z += residual.V[i]
		}
		if o.ReLU {
			z = max(z, 0)
		}
		y.V[i] = z
	}
	return y, stats
}
