package metric

// hits returns Σ r_i over the first k.
func hits(r []int, k int) (n float64) {
	for _, x := range r[:min(k, len(r))] {
		n += float64(x)
	}
	return n
}

// precisionsAt returns Σ r_i·P@i over the first k.
func precisionsAt(r []int, k int) (sum float64) {
	for i := range min(k, len(r)) {
		sum += float64(r[i]) * hits(r, i+1) / float64(i+1)
	}
	return sum
}
