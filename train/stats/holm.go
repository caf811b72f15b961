package stats

import (
	"cmp"
	"slices"
)

// Holm corrects the p-values of several tests (Holm, "A Simple Sequentially Rejective Multiple
// Test Procedure", 1979). The probability that any true hypothesis has a corrected value of at
// most a is at most a, however the tests depend on one another. The i-th smallest of n values
// becomes the largest of (n−j+1)·p_j over j ≤ i, capped at 1.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	corrected, largest := make([]float64, len(p)), 0.0
	for rank, i := range order {
		largest = max(largest, min(1, float64(len(p)-rank)*p[i]))
		corrected[i] = largest
	}
	return corrected
}
