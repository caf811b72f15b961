package reference

import "math"

// FoldNorm folds frozen statistics into weights w [K,…]: r = 1/√(variance+eps),
// wf = γ·r·w, bf = β − γ·r·mean.
func FoldNorm(w, gamma, beta, mean, variance *Array, eps float64) (wf, bf *Array) {
	wf, bf = Zeros(w.Dims...), Zeros(w.Dims[0])
	width := len(w.V) / len(bf.V)
	for k := range bf.V {
		scale := at(gamma, k, 1) / math.Sqrt(variance.V[k]+eps)
		bf.V[k] = at(beta, k, 0) - scale*mean.V[k]
		for i := range width {
			wf.V[k*width+i] = scale * w.V[k*width+i]
		}
	}
	return wf, bf
}
