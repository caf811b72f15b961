package devicetest

import (
	"math"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// testDifferences compares the definition of the rank gradient, by which RankLoss is
// measured, with the definition of the ranks.
func testDifferences(s *suite, _ device.Rank) {
	for _, h := range rankSteps() {
		s.pairDifferences("gradient of the ranks, "+h.name, reference.NewSteps(h.Steps))
	}
}

// pairDifferences compares the defined gradient with central differences of the
// defined ranks, in float64 throughout. Scores are multiples of 0.013, so that no
// difference of two is where a step jumps: 0, 0.02, 0.05.
func (s *suite) pairDifferences(what string, steps *reference.Steps) {
	s.Helper()
	for _, g := range []int{2, 9, 33} {
		d := s.ranking(rankCase{q: 1, g: g, levels: 3, positives: 0.6})
		for i, place := range s.r.Perm(g) {
			d.scores.V[i] = 0.013 * float64(place)
		}
		up1, up2, ds, rank, plus := s.master(1, g), s.master(1, g), zeros(1, g), zeros(1, g), zeros(1, g)
		reference.PairRankGrad(ds.V, up1.V, up2.V, d.scores.V, d.sh(0), d.rel.V, steps)
		loss := func() float64 {
			reference.PairRank(rank.V, plus.V, d.scores.V, d.sh(0), d.rel.V, steps)
			return weighted(up1, rank) + weighted(up2, plus) // 0 where there is no positive
		}
		// step² of a sigmoid's third derivative: 1e-10/τ³ = 1e-4 of 25
		s.gradient(what+": differences", ds.V, d.scores, loss, 1e-5)
	}
}

// cancelled is the error that is left where the terms of a gradient, of size 1 to
// 100, cancel: those of rank and plus do, where all items ahead are positives.
const cancelled = 1e-6

// sumsToZero checks that the gradient of each query has the sum 0: ranks do not
// change when all scores do by the same amount.
func (s *suite) sumsToZero(what string, ds []float64, d *rankData) {
	s.Helper()
	for q := range d.q {
		sum, size := 0.0, 0.0
		for _, v := range ds[q*d.g : (q+1)*d.g] {
			sum += v
			size += math.Abs(v)
		}
		if !(math.Abs(sum) <= rankTolerance*size+cancelled) {
			s.Fatalf("%s: query %d: gradients add up to %.3g of %.3g", what, q, sum, size)
		}
	}
}
