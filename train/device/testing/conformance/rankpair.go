package conformance

import (
	"math"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// testDifferences compares the reference gradient of the ranks, which is the yardstick for
// RankLoss, with the reference ranks.
func testDifferences(s *suite, _ device.Rank) {
	for _, h := range rankSteps() {
		s.pairDifferences("gradient of the ranks, "+h.name, reference.NewSteps(h.Steps))
	}
}

// pairDifferences compares the reference gradient with central differences of the reference
// ranks, in float64. Scores are multiples of 0.013, so that no difference of two lies at a
// jump of a step: 0, 0.02, 0.05.
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
			return weighted(up1, rank) + weighted(up2, plus) // 0 if there is no positive
		}
		// error: step² times a sigmoid's third derivative, 1e-10/τ³ = 1e-4 of 25
		s.gradient(what+": differences", ds.V, d.scores, loss, 1e-5)
	}
}

// cancelled is the error that remains if the terms of a gradient, of size 1 to 100, cancel.
// Those of rank and plus cancel if all preceding items are positives.
const cancelled = 1e-6

// sumsToZero checks that the gradient of each query sums to 0, since adding a constant to all
// scores does not change the ranks.
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
