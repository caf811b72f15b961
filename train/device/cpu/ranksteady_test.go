package cpu

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"hgld/train/device"
)

// rankCalls returns calls of every operation of Rank, on rows with few positives and with
// many.
func rankCalls(b *Backend) []call {
	const q, g, levels = 12, 700, 2
	r := rand.New(rand.NewPCG(6, 6))
	f := func(d ...int) device.Array { return device.New(b, device.F32, d...) }
	s, ds, rank, plus, u, v := f(q, g), f(q, g), f(q, g), f(q, g), f(q, g), f(q, g)
	sh, levelsOf := device.New(b, device.U8, q, g), device.New(b, device.U8, q, 50)
	rel, cnt, weight, loss := f(q, levels+1), device.New(b, device.I32, q, levels+1), f(q), f(q)
	ql, gl, self := device.New(b, device.I32, q, levels), device.New(b, device.I32, g, levels),
		device.New(b, device.I32, q)
	order := device.New(b, device.I32, q, 50)
	for i := range f32(s) {
		f32(s)[i] = float32(r.NormFloat64() * 0.1)
	}
	for _, labels := range []device.Array{ql, gl} {
		for i := range labels.Dims[0] {
			c := int32(r.IntN(400)) // classes 0 and 1 have many items, 2 to 399 few
			if i%3 == 0 {
				c = int32(i % 2)
			}
			copy(row(i32(labels), labels, i), []int32{c, c / 2})
		}
	}
	for i := range q {
		i32(self)[i] = int32(i)
	}
	h := &device.Steps{Rank: [3]device.Step{testH, testH, testUpper}, Plus: [3]device.Step{testLeak, testH, testSigmoid}}
	o, pairs := &device.Score{}, device.New(b, device.I32, q, 2)
	hinges := &device.Pairs{Kind: device.Contrastive, Mean: device.MeanTerms, PosMargin: 0.1}
	triplet := &device.Pairs{Kind: device.Triplet, Mean: device.MeanTerms, PosMargin: 0.05}
	csl := &device.Pairs{Kind: device.Levels, PosScale: 32, Margins: []float32{0.25, 0.45}}
	angle := &device.Pairs{Kind: device.Angular, PosScale: 30, PosMargin: 0.5, Smoothing: 0.1}
	recall := &device.Score{Kind: device.ScoreRecall, At: []float32{1, 8}, Temp: []float32{1, 2}}
	soft := &device.Pairs{Kind: device.MultiSimilarity, PosScale: 2, NegScale: 40, Ceiling: 1}
	return []call{
		{"Shared", func(b *Backend) { b.Shared(sh, ql, gl, self, device.SharedKind{Self: device.SelfAbsent}) },
			[]device.Array{sh}},
		{"Relevance", func(b *Backend) { b.Relevance(rel, cnt, weight, sh, device.RelKind{Mode: device.RelPop, Divisor: 2}) },
			[]device.Array{rel, cnt, weight}},
		{"RankScore", func(b *Backend) { b.RankScore(loss, u, v, rank, plus, sh, rel, cnt, o) }, []device.Array{loss, u, v}},
		{"RankLoss", func(b *Backend) { b.RankLoss(loss, ds, s, sh, rel, cnt, h, o) }, []device.Array{loss, ds}},
		{"Ranks", func(b *Backend) { b.Ranks(rank, s, sh, 1) }, []device.Array{rank}},
		{"RanksGrad", func(b *Backend) { b.RanksGrad(ds, u, s, sh, 4) }, []device.Array{ds}},
		{"BinLoss", func(b *Backend) { b.BinLoss(loss, ds, s, sh, &device.Bins{N: 20, Min: -1, Max: 1}) },
			[]device.Array{loss, ds}},
		{"PairLoss", func(b *Backend) { b.PairLoss(loss, pairs, ds, s, sh, hinges) }, []device.Array{loss, pairs, ds}},
		{"PairLossTriplets", func(b *Backend) { b.PairLoss(loss, pairs, ds, s, sh, triplet) },
			[]device.Array{loss, pairs, ds}},
		{"PairLossLevels", func(b *Backend) { b.PairLoss(loss, pairs, ds, s, sh, csl) }, []device.Array{loss, pairs, ds}},
		{"PairLossAngle", func(b *Backend) { b.PairLoss(loss, pairs, ds, s, sh, angle) }, []device.Array{loss, pairs, ds}},
		{"RankLossRecall", func(b *Backend) { b.RankLoss(loss, ds, s, sh, rel, cnt, h, recall) }, []device.Array{loss, ds}},
		{"PairLossSoft", func(b *Backend) { b.PairLoss(loss, pairs, ds, s, sh, soft) }, []device.Array{loss, pairs, ds}},
		{"Ranked", func(b *Backend) { b.Ranked(levelsOf, order, s, sh) }, []device.Array{levelsOf, order}},
	}
}

func TestRankOperationsAllocateNothingInTheSteadyState(t *testing.T) {
	b := New(1) // one thread, since the assignment of rows to threads depends on timing
	for _, c := range rankCalls(b) {
		if n := testing.AllocsPerRun(5, func() { c.run(b) }); n != 0 {
			t.Errorf("%s: %v allocations a call", c.name, n)
		}
	}
}

func TestRankBytesDoNotDependOnTheNumberOfThreads(t *testing.T) {
	want := map[string][]byte{}
	for _, threads := range []int{1, 2, 3, 7} {
		b := New(threads)
		for _, c := range rankCalls(b) {
			c.run(b)
			var got []byte
			for _, a := range c.out {
				got = append(got, bytesOf(a)...)
			}
			if threads == 1 {
				want[c.name] = got
			} else if !bytes.Equal(got, want[c.name]) {
				t.Errorf("%s differs between 1 and %d threads", c.name, threads)
			}
		}
	}
}
