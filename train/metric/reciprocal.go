package metric

import "slices"

// MRR is the reciprocal rank, 1/i for the first positive. Its mean over queries is the mean
// reciprocal rank, trec_eval's recip_rank. It is undefined for R = 0.
type MRR struct{}

// Name returns "MRR".
func (MRR) Name() string { return "MRR" }

// AddLevel handles ties of the first positives, p of t items with equal scores, by the mean over
// the places s of the first of them. It is at s with probability Π_{x<s} (t−p−x+1)/(t−x+1) ·
// p/(t−s+1), x from 1. Later groups contribute nothing.
func (MRR) AddLevel(sum float64, v *View) float64 {
	if v.before > 0 || v.groups() == 0 {
		return sum
	}
	first, none := v.group(0), 1.0 // none: the probability that no positive precedes the place
	for s := 0; s <= first.size-first.hits; s++ {
		left := float64(first.size - s)
		sum += none * float64(first.hits) / left / float64(first.first+s+1)
		none *= (left - float64(first.hits)) / left
	}
	return sum
}

// AtLevel returns the sum.
func (MRR) AtLevel(sum float64, v *View) (float64, bool) { return sum, v.R > 0 }

func (MRR) Define(r []int) float64 { return 1 / float64(1+slices.Index(r, 1)) }
