package conformance

import (
	"fmt"

	"hgld/internal/testing/effort"
	"hgld/train/device"
	"hgld/train/device/reference"
)

// rankLoss runs the operation under test.
func (s *suite) rankLoss(b device.Rank, d *rankData, h *device.Steps, o *device.Score) (loss, ds device.Array) {
	scores, shared, rel, count := s.onDevice(d)
	loss, ds = s.alloc(device.F32, d.q), s.view(device.F32, d.q, d.g)
	b.RankLoss(loss, ds, scores, shared, rel, count, h, o)
	return loss, ds
}

// The fused operation equals PairRank, RankScore and PairRankGrad, by whichever algorithm.
func testRankLoss(s *suite, b device.Rank) {
	for i, h := range rankSteps() {
		scores := rankScores
		if i >= 2 || i == 1 && !effort.Exhaustive() {
			scores = scores[:1] // the kind of score does not depend on the steps
		}
		for k, o := range scores {
			cases := rankCases(effort.Long() || effort.Exhaustive() && k == 0)
			if k > 0 && !effort.Exhaustive() {
				cases = cases[len(cases)-4:] // nor do the sizes that matter depend on it
			}
			for _, c := range cases {
				d := s.ranking(c)
				loss, ds := s.rankLoss(b, d, h.Steps, &o)
				rank, plus := definedRanks(d, h.Steps)
				wantLoss, drank, dplus := definedScore(d, rank, plus, &o)
				want := zeros(c.q, c.g)
				for q := range c.q {
					reference.PairRankGrad(want.Row(q), drank.Row(q), dplus.Row(q), d.s32(q), d.sh(q), d.rel.Row(q),
						reference.NewSteps(h.Steps))
				}
				what := fmt.Sprint("RankLoss ", h.name, o, c)
				s.losses(what, loss, wantLoss.V)
				s.near(what, s.get(ds), want.V, slopeTolerance, cancelled)
				s.gapsAreKept(what, ds)
				s.sumsToZero(what, s.get(ds), d)
				scores, shared, rel, count := s.onDevice(d)
				alone := s.alloc(device.F32, c.q)
				b.RankLoss(alone, absent, scores, shared, rel, count, h.Steps, &o)
				s.equal("RankLoss without ds", alone, s.get(loss))
			}
		}
	}
}

// The loss and the gradient do not depend on the order of the items.
func testRankLossOrder(s *suite, b device.Rank) {
	for _, h := range rankSteps() {
		for _, c := range []rankCase{{2, 33, 2, 0.3, true}, {3, 129, 1, 0.03, false}, {2, 1025, 3, 0.4, true}} {
			d := s.ranking(c)
			order := s.r.Perm(c.g)
			mixed := &rankData{c, zeros(c.q, c.g), zeros(c.q, c.g), d.rel, d.count}
			for q := range c.q {
				for at, i := range order {
					mixed.scores.Row(q)[at], mixed.shared.Row(q)[at] = d.scores.Row(q)[i], d.shared.Row(q)[i]
				}
			}
			o := &device.Score{}
			loss, ds := s.rankLoss(b, d, h.Steps, o)
			mixedLoss, mixedDS := s.rankLoss(b, mixed, h.Steps, o)
			s.losses(fmt.Sprint("RankLoss in another order ", h.name, c), mixedLoss, s.get(loss))
			back, got := make([]float64, c.q*c.g), s.get(mixedDS)
			for q := range c.q {
				for at, i := range order {
					back[q*c.g+i] = got[q*c.g+at]
				}
			}
			s.near(fmt.Sprint("RankLoss in another order ", h.name, c), back, s.get(ds), slopeTolerance, denormal)
		}
	}
}

// A query without positives or items has no loss and no gradient, and its relevances are not
// read.
func testRankLossWithoutPositives(s *suite, b device.Rank) {
	for _, o := range rankScores {
		d := s.ranking(rankCase{4, 65, 2, 0.3, false})
		for q, level := range []float64{0, device.AbsentLevel} {
			for i := range d.g {
				d.shared.Row(q)[i] = level
			}
			clear(d.count.Row(q))
			clear(d.rel.Row(q))
			if level == 0 {
				d.count.Row(q)[0] = float64(d.g)
			}
		}
		loss, ds := s.rankLoss(b, d, rankSteps()[1].Steps, &o)
		for q, v := range s.get(loss)[:2] {
			if v != 0 {
				s.Errorf("query %d without positives: loss %v", q, v)
			}
		}
		for i, v := range s.get(ds)[:2*d.g] {
			if v != 0 {
				s.Fatalf("query %d without positives: gradient %v", i/d.g, v)
			}
		}
	}
}
