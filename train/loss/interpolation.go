package loss

import (
	"cmp"
	"math"
	"slices"

	"hgld/train/device"
	"hgld/train/loss/definition"
)

// Interpolating is a Kind with an interpolated gradient of the ranks: BlackBoxAP and RamboRecall.
type Interpolating interface {
	Kind
	interpolation() (interpolation, bool) // false: its settings have none
}

// interpolation describes a loss that adds up over the positives of each query.
type interpolation struct {
	lambda, margin float64
	compared       definition.Compared
	byPositive     bool // every positive has the same weight, not every query

	// of returns what the p-th best of n positives adds to n times the loss of a query, at rank r, among b queries.
	of func(p, r, n, b float64) float64
}

// Interpolations returns the λ of a loss, and its interpolations on a batch for multiples of λ; nil if it has none.
// The interpolation of Vlastelica et al., "Differentiation of Blackbox Combinatorial Solvers", ICLR 2020 (section 3),
// is continuous in the scores s of the n items of each query, and at most the loss:
//
//	f_λ(s) = L(π_λ) − 1/λ (c(s, π_1) − c(s, π_λ)) = 1/λ (min_π [c(s, π) + λ L(π)] − min_π c(s, π))
//	c(s, π) = Σ_q s_q·π_q / n
//
// π are rankings of the items of all queries, 1 for the first; π_1 is that of the scores, and π_λ attains the first
// minimum. RaMBO (Rolínek et al., CVPR 2020) chooses c in its proposition 1 and divides ranks by n, as its code does.
// The scores are those after the margin.
//
// The gradient in training, (π_λ − π_1)/(nλ), has the same form, with L made linear at π_1. These values keep L, so
// that all points belong to one function. The minimum over all rankings is exact: in the best one, the positives
// keep their order, and so do the others, so that the two orders are merged in O(positives × others).
func Interpolations(k Kind, in *definition.Batch, multiples []float64) (lambda float64, values []float64) {
	i, ok := k.(Interpolating)
	if !ok {
		return 0, nil
	}
	own, ok := i.interpolation()
	if !ok {
		return 0, nil
	}
	values = make([]float64, len(multiples))
	definition.Of(&definition.Scored{Compared: own.compared,
		Of: func(_ *definition.Batch, s [][]float64, sh [][]uint8) (float64, [][]float64) {
			for m, by := range multiples {
				values[m] = own.value(s, sh, by*own.lambda)
			}
			return 0, definition.ZerosLike(s)
		}}, in)
	return own.lambda, values
}

// value returns f_λ of the scores.
func (i interpolation) value(s [][]float64, sh [][]uint8, lambda float64) (sum float64) {
	sides := make([][2][]float64, len(s)) // the scores of the positives and of the others, best first
	queries, positives := 0.0, 0.0
	for q := range s {
		moved := definition.Behind(s[q], sh[q], i.margin, nil)
		for g, l := range sh[q] {
			if l != device.AbsentLevel {
				side := &sides[q][1-min(l, 1)]
				*side = append(*side, moved[g])
			}
		}
		for _, side := range sides[q] {
			slices.SortFunc(side, func(a, b float64) int { return cmp.Compare(b, a) })
		}
		positives += float64(len(sides[q][0]))
		queries += float64(min(len(sides[q][0]), 1))
	}
	for _, side := range sides {
		n := float64(len(side[0]))
		if n == 0 {
			continue
		}
		weight := 1 / (queries * n)
		if i.byPositive {
			weight = 1 / positives
		}
		least := merged(side, func(p, r float64) float64 { return lambda * weight * i.of(p, r, n, float64(len(s))) })
		sum += (least - merged(side, func(_, _ float64) float64 { return 0 })) / lambda
	}
	return sum
}

// merged returns the least cost of a ranking that keeps the order of both sides: the mean of score times rank, and of
// the p-th positive at rank r.
func merged(side [2][]float64, of func(p, r float64) float64) float64 {
	n := float64(len(side[0]) + len(side[1]))
	least := make([]float64, len(side[1])+1) // by others placed, for the positives placed so far
	for p := range len(side[0]) + 1 {
		for o := range least {
			r, best := float64(p+o), math.Inf(1)
			if p == 0 && o == 0 {
				best = 0
			}
			if p > 0 {
				best = least[o] + side[0][p-1]*r/n + of(float64(p), r)
			}
			if o > 0 {
				best = min(best, least[o-1]+side[1][o-1]*r/n)
			}
			least[o] = best
		}
	}
	return least[len(side[1])]
}

func (l BlackBoxAP) interpolation() (interpolation, bool) {
	return interpolation{lambda: l.Lambda, margin: l.Margin, compared: l.GalleryOptions.at(l.Level),
		of: func(p, r, n, _ float64) float64 { return 1 - p/r*n/(n+l.Epsilon) }}, l.MarginKind != HalfNormal
}

func (l RamboRecall) interpolation() (interpolation, bool) {
	return interpolation{lambda: l.Lambda, margin: l.Margin, compared: l.GalleryOptions.at(l.Level),
		byPositive: l.Mean == OverPositives, of: func(p, r, _, b float64) float64 {
			if l.ScaleByRows {
				return first(l.weight((r - p) * b / (b - 1)))
			}
			return first(l.weight(r - p))
		}}, true
}

func first(v, _ float64) float64 { return v }
