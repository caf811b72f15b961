package conformance

import (
	"fmt"
	"math"
	"slices"

	"hgld/internal/testing/effort"
	"hgld/train/device"
	"hgld/train/device/reference"
)

// rankScores are the scores under test. Recall comes with and without Clip and with one
// temperature per k, so that some terms are flat where others are steep.
var rankScores = []device.Score{
	{Kind: device.ScoreAP},
	{Kind: device.ScoreNDCG},
	{Kind: device.ScoreRecall, At: []float32{1, 2, 4, 8, 16}, Temp: []float32{1, 1, 1, 1, 1}},
	{Kind: device.ScoreRecall, At: []float32{3}, Temp: []float32{0.5}, Clip: true},
	{Kind: device.ScoreRecall, At: []float32{4, 1, 9}, Temp: []float32{0.25, 1.5, 30}},
}

// logScores are scores of counted ranks, which omit the derivative with respect to plus.
var logScores = []device.Score{{Kind: device.ScoreLog}, {Kind: device.ScoreLogLog}}

// definedScore returns the reference RankScore of all queries.
func definedScore(d *rankData, rank, plus *array, o *device.Score) (loss, drank, dplus *array) {
	loss, drank, dplus = zeros(d.q), zeros(d.q, d.g), zeros(d.q, d.g)
	for q := range d.q {
		loss.V[q] = reference.RankScore(drank.Row(q), dplus.Row(q), rank.Row(q), plus.Row(q), d.sh(q), d.rel.Row(q),
			d.counts(q), o)
	}
	return loss, drank, dplus
}

func testRankScore(s *suite, b device.Rank) {
	for _, o := range slices.Concat(rankScores, logScores) {
		for _, c := range rankCases(effort.Exhaustive()) {
			d := s.ranking(c)
			rank, plus := zeros(c.q, c.g), zeros(c.q, c.g)
			for i, l := range d.shared.V {
				if l >= 1 && d.existing(i) {
					rank.V[i] = rounded(device.F32, 1+math.Abs(s.r.NormFloat64())*float64(c.g)/4)
					plus.V[i] = rounded(device.F32, s.r.Float64()*rank.V[i])
				}
			}
			_, shared, rel, count := s.onDevice(d)
			loss := s.alloc(device.F32, c.q)
			drank, dplus := s.view(device.F32, c.q, c.g), s.view(device.F32, c.q, c.g)
			b.RankScore(loss, drank, dplus, s.putView(device.F32, rank), s.putView(device.F32, plus), shared, rel, count, &o)
			wantLoss, wantRank, wantPlus := definedScore(d, rank, plus, &o)
			what := fmt.Sprint("RankScore", o, c)
			s.losses(what, loss, wantLoss.V)
			s.same(what+": drank", drank, wantRank.V, slopeTolerance)
			s.same(what+": dplus", dplus, wantPlus.V, slopeTolerance)
			if c.g > 33 || o.Clip { // Clip has a kink at sum = k
				continue
			}
			sum := func() float64 { l, _, _ := definedScore(d, rank, plus, &o); return total(l.V) }
			s.gradient(what+": differences of rank", wantRank.V, rank, sum, 1e-5)
			if slices.Contains([]device.ScoreKind{device.ScoreLog, device.ScoreLogLog}, o.Kind) {
				continue
			}
			s.gradient(what+": differences of plus", wantPlus.V, plus, sum, 1e-5)
		}
	}
}

// losses compares losses by absolute error. They lie in [0, 1], or slightly outside for
// Recall, and 1 − x has the absolute error of x.
func (s *suite) losses(what string, got device.Array, want []float64) {
	s.Helper()
	for q, v := range s.get(got) {
		if !(math.Abs(v-want[q]) <= rankTolerance*math.Max(1, math.Abs(want[q]))) {
			s.Fatalf("%s: query %d: loss %v, want %v", what, q, v, want[q])
		}
	}
}
