package definition

import (
	"cmp"
	"slices"

	"hgld/train/device"
)

// Places returns the place, from 1, of each item among those with at least the level least, by
// falling score; 0 for other items.
func Places(s []float64, sh []uint8, least uint8) []float64 {
	var items []int
	for i, l := range sh {
		if l >= least && l != device.AbsentLevel {
			items = append(items, i)
		}
	}
	slices.SortStableFunc(items, func(a, b int) int { return cmp.Compare(s[b], s[a]) })
	rank := make([]float64, len(s))
	for at, i := range items {
		rank[i] = float64(at + 1)
	}
	return rank
}

// Interpolated returns the gradient that replaces that of the ranks, divided by the number of
// items n. d is the derivative of the loss by the rank.
func Interpolated(s, d []float64, sh []uint8, lambda float64) []float64 {
	rank, n := Places(s, sh, 0), 0.0
	for _, r := range rank {
		n = max(n, r)
	}
	moved := slices.Clone(s)
	for i := range s {
		moved[i] += lambda * n * d[i]
	}
	ds := make([]float64, len(s))
	if n == 0 { // no item
		return ds
	}
	for i, r := range Places(moved, sh, 0) {
		ds[i] = (r - rank[i]) / n / (lambda + 1e-8) // the authors' guard against λ = 0
	}
	return ds
}

// Behind returns the scores moved by half the margin, positives down and others up, times an
// amplitude if there are any.
func Behind(s []float64, sh []uint8, margin float64, amplitude []float64) []float64 {
	out := slices.Clone(s)
	for i, l := range sh {
		by := -margin / 2
		if l == 1 {
			by = margin / 2
		}
		if amplitude != nil {
			by *= amplitude[i]
		}
		out[i] -= by
	}
	return out
}
