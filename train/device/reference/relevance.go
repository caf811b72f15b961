package reference

import (
	"math"

	"hgld/train/device"
)

// Relevance returns the relevance [Q,L+1] of each level by the formula of device.RelKind, and the
// weight [Q] of each query. count [Q,L+1] is the number of items of each level.
func Relevance(count *Array, o device.RelKind) (rel, weight []float64) {
	levels, with := count.Cols()-1, 0.0
	for q := range count.Rows() {
		n := append([]float64(nil), count.Row(q)...)
		positive := 0.0
		for _, m := range n[1:] {
			positive = max(positive, math.Min(m, 1))
		}
		with += positive
		weight = append(weight, positive)
		if o.CountSelf {
			n[levels]++
		}
		sum := 0.0
		rel = append(rel, 0)
		for l := 1; l <= levels; l++ {
			above := 0.0
			for _, m := range n[l:] {
				above += m
			}
			r := 1.0
			switch {
			case o.Mode == device.RelPop && n[l] == 0:
				r = 0
			case o.Mode == device.RelPop:
				r = math.Pow(float64(l)/float64(o.Divisor), float64(o.Alpha)) / n[l]
			case o.Mode == device.RelMap:
				if above > 0 {
					sum += float64(o.Weights[l-1]) / above
				}
				r = sum
			}
			rel = append(rel, r)
		}
	}
	for q := range weight {
		if o.AllQ {
			weight[q] = 1 / float64(count.Rows())
		} else if with > 0 {
			weight[q] /= with
		}
	}
	return rel, weight
}
