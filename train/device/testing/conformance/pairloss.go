package conformance

import (
	"fmt"
	"math"

	"hgld/internal/testing/effort"
	"hgld/train/device"
	"hgld/train/device/reference"
)

// pairKinds returns the kinds of pairs with the constants of their losses, each with every
// mean. The scores of the cases lie around 0 with a spread of 0.15.
func pairKinds(levels int) []device.Pairs {
	inf := float32(math.Inf(1))
	return []device.Pairs{
		{Kind: device.Contrastive, Mean: device.MeanTerms, PosMargin: 0.15, NegMargin: 0.05},
		{Kind: device.Contrastive, Mean: device.MeanPairs, PosMargin: 0.15, NegMargin: 0.05},
		{Kind: device.Contrastive, PosMargin: 0.15, NegMargin: 0.05},
		{Kind: device.CrossBatch, NegMargin: 0.05, Ceiling: 0.3},
		{Kind: device.MultiSimilarity, PosScale: 2, NegScale: 40, Base: 0.1, Mine: true, PosMargin: 0.1, Ceiling: 0.3},
		{Kind: device.MultiSimilarity, PosScale: 2, NegScale: 50, Base: 0.5, Ceiling: inf},
		{Kind: device.Triplet, Mean: device.MeanTerms, PosMargin: 0.05},
		{Kind: device.EasyTriplet, Mean: device.MeanTerms, PosMargin: 0.05},
		{Kind: device.Levels, PosScale: 32, Margins: []float32{0.25, 0.35, 0.45, 0.5, 0.5, 0.5, 0.5}[:levels]},
		{Kind: device.Angular, PosScale: 30, PosMargin: 0.5},
		{Kind: device.Angular, PosScale: 30, PosMargin: 0.3, Easy: true},
		{Kind: device.Angular, PosScale: 30, PosMargin: 0.5, Smoothing: 0.1},
		{Kind: device.Angular, PosScale: 30, PosMargin: 0.3, Easy: true, Smoothing: 0.9},
		{Kind: device.Ratio, PosScale: 18},
	}
}

// definedPairs returns the reference PairLoss of all queries. Scores are float32 as on the
// device, or float64 for differentiation.
func definedPairs[T float32 | float64](d *rankData, scores func(q int) []T, p *reference.Pairs) (loss, count,
	ds *array) {
	loss, count, ds = zeros(d.q), zeros(d.q, 2), zeros(d.q, d.g)
	sums, total := make([]reference.PairSum, d.q), [2]int64{}
	for q := range sums {
		sums[q] = reference.PairLoss(ds.Row(q), scores(q), d.sh(q), p)
		for sign, n := range sums[q].Count {
			total[sign] += int64(n)
			count.Row(q)[sign] = float64(n)
		}
	}
	for q, r := range sums {
		w := p.Weights(r.Count, total, d.q)
		loss.V[q] = w[0]*r.Loss[0] + w[1]*r.Loss[1]
		for i, l := range d.shared.Row(q) {
			if l == 0 {
				ds.Row(q)[i] *= w[1]
			} else {
				ds.Row(q)[i] *= w[0]
			}
		}
	}
	return loss, count, ds
}

// Whether a hinge is active is decided on float32 scores and sums of three of them, so the
// counts must be equal.
func testPairLoss(s *suite, b device.Rank) {
	for _, c := range append(rankCases(effort.Exhaustive()), rankCase{4, 9, 3, 0, false}) {
		d := s.ranking(c)
		scores, shared, _, _ := s.onDevice(d)
		for _, o := range pairKinds(c.levels) {
			loss, count, ds := s.alloc(device.F32, c.q), s.view(device.I32, c.q, 2), s.view(device.F32, c.q, c.g)
			b.PairLoss(loss, count, ds, scores, shared, &o)
			wantLoss, wantCount, want := definedPairs(d, d.s32, reference.NewPairs(&o))
			what := fmt.Sprint("PairLoss ", o, c)
			s.near(what, s.get(loss), wantLoss.V, rankTolerance, rankTolerance)
			s.equal(what+": count", count, wantCount.V)
			s.same(what+": ds", ds, want.V, slopeTolerance)
			s.gapsAreKept(what, ds)
			alone := s.alloc(device.F32, c.q)
			b.PairLoss(alone, count, absent, scores, shared, &o)
			s.equal("PairLoss without ds", alone, s.get(loss))
		}
	}
	s.pairLossDifferences()
	s.angularDifferences()
}

// pairLossDifferences compares the reference gradients with central differences. Scores are
// multiples of 0.013 that lie half a step off every margin, so that no hinge is at its kink.
func (s *suite) pairLossDifferences() {
	s.Helper()
	for _, g := range []int{2, 9, 33} {
		for _, o := range pairKinds(3) {
			d := s.ranking(rankCase{q: 2, g: g, levels: 3, positives: 0.6})
			for q := range d.q {
				for i, place := range s.r.Perm(g) {
					d.scores.Row(q)[i] = 0.013*float64(place) - 0.0031
				}
			}
			s.pairSlopes(d, &o)
		}
	}
}

// angularDifferences does the same on both sides of the angle at which φ jumps, or bends with
// Easy. Each item is the positive of one query, and a negative for the others. Smoothing moves
// both.
func (s *suite) angularDifferences() {
	s.Helper()
	for _, o := range []device.Pairs{
		{PosMargin: 0.5}, {PosMargin: 0.5, Smoothing: 0.1}, {PosMargin: 0.3, Smoothing: 0.7},
		{PosMargin: 2.8, Smoothing: 0.4},
		{PosMargin: 0.5, Easy: true}, {PosMargin: 0.5, Easy: true, Smoothing: 0.1},
	} {
		o.Kind, o.PosScale = device.Angular, 8
		edge := 0.0
		if !o.Easy {
			edge = math.Cos(math.Pi - float64(o.PosMargin))
		}
		near := []float64{edge - 0.001, edge + 0.001, -0.97, 0.97, 0.3, -0.4}
		d := s.ranking(rankCase{q: len(near), g: len(near), levels: 1})
		clear(d.shared.V)
		for q := range near {
			copy(d.scores.Row(q), near)
			d.shared.Row(q)[q] = 1
		}
		s.pairSlopes(d, &o)
	}
}

func (s *suite) pairSlopes(d *rankData, o *device.Pairs) {
	s.Helper()
	p := reference.NewPairs(o)
	_, _, ds := definedPairs(d, d.scores.Row, p)
	sum := func() float64 { loss, _, _ := definedPairs(d, d.scores.Row, p); return total(loss.V) }
	// error: step² times the third derivative of an exponential of scale 50, 1e-10·50² = 2.5e-7
	s.gradient(fmt.Sprint("PairLoss: differences ", *o), ds.V, d.scores, sum, 1e-5)
}
