package vec

// CountAbove returns how many numbers of x are greater than t, and how many equal it. NaN is neither.
func CountAbove(x []float32, t float32) (above, equal int) {
	n, above, equal := countAboveFast(x, t)
	for _, v := range x[n:] {
		if v > t {
			above++
		}
		if v == t {
			equal++
		}
	}
	return above, equal
}
