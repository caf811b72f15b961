package reference

import "math"

// Normalize divides each row of x by n = max(‖x‖, eps). It returns n for each row, negative where
// n is eps.
func Normalize(x *Array, eps float64) (y *Array, norm []float64) {
	y, norm = Zeros(x.Dims...), make([]float64, x.Rows())
	for i := range norm {
		n := 0.0
		for _, v := range x.Row(i) {
			n += v * v
		}
		n = math.Sqrt(n)
		norm[i] = n
		if n < eps {
			n, norm[i] = eps, -eps
		}
		for j, v := range x.Row(i) {
			y.Row(i)[j] = v / n
		}
	}
	return y, norm
}

// at returns element j of a, or otherwise if a is nil.
func at(a *Array, j int, otherwise float64) float64 {
	if a == nil {
		return otherwise
	}
	return a.V[j]
}
