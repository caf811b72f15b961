package conformance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/train/device"
	"hgld/train/device/reference"
)

// RunRank tests the operations of Rank against the reference, loops over pairs in float64. The
// score of a missing item is NaN: an operation must not read it.
func RunRank(t *testing.T, b device.Backend) {
	for _, op := range []struct {
		name string
		test func(*suite, device.Rank)
	}{
		{"Shared", testShared},
		{"Relevance", testRelevance},
		{"Differences", testDifferences},
		{"RankScore", testRankScore},
		{"RankLoss", testRankLoss},
		{"RankLossOrder", testRankLossOrder},
		{"RankLossWithoutPositives", testRankLossWithoutPositives},
		{"Ranks", testRanks},
		{"RanksGrad", testRanksGrad},
		{"Ranked", testRanked},
		{"BinLoss", testBinLoss},
		{"PairLoss", testPairLoss},
		{"RowsWithoutItems", testRowsWithoutItems},
	} {
		t.Run(op.name, func(t *testing.T) {
			s := &suite{T: t, b: b, dtype: device.F32, r: rand.New(rand.NewPCG(2, uint64(len(op.name))))}
			op.test(s, b)
			if err := b.Sync(); err != nil {
				t.Error(err)
			}
			for _, buf := range s.buffers {
				b.Free(buf)
			}
		})
	}
}

// Relative L2 tolerances in F32. A rank is a sum of up to 1,025 steps with a few roundings
// each (a device's exp, a division), in any order of summation: 2^-24·√1025 = 2e-6. A gradient
// is a sum of terms of both signs.
const (
	rankTolerance  = 4e-6
	slopeTolerance = 2e-5
)

// rankCase is a set of queries over some items, a share of which have levels above 0.
type rankCase struct {
	q, g, levels int
	positives    float64
	ties         bool
}

// rankCases cover few positives and many, up to all, with and without ties; every one, or those that decide.
func rankCases(every bool) (cases []rankCase) {
	of, long := []int{1, 2, 33, 129}, []int{1025}
	if every {
		of, long = sizes, nil
	}
	for _, g := range of {
		q := 1 + 130/(g+10)
		cases = append(cases, rankCase{q, g, 1, 0.02, false}, rankCase{q, g, 2, 0.3, true}, rankCase{q, g, 3, 0.5, false})
	}
	for _, g := range long {
		cases = append(cases, rankCase{1, g, 2, 0.3, true})
	}
	return append(cases, rankCase{33, 65, 2, 0.3, true}, rankCase{2, 129, 7, 0.9, false}, rankCase{3, 127, 1, 1, true})
}

// rankData holds the numbers of a case on the host.
type rankData struct {
	rankCase
	scores *array
	shared *array
	rel    *array
	count  *array
}

// ranking draws scores, levels and relevances. Each query has at least one positive that is
// not missing.
func (s *suite) ranking(c rankCase) *rankData {
	d := &rankData{c, zeros(c.q, c.g), zeros(c.q, c.g), zeros(c.q, c.levels+1), zeros(c.q, c.levels+1)}
	for i := range d.scores.V {
		v := s.r.NormFloat64() * 0.15
		if s.r.Float64() < c.positives {
			d.shared.V[i] = float64(1 + s.r.IntN(c.levels))
			v += 0.1
		} else if s.r.IntN(8) == 0 {
			d.shared.V[i] = device.AbsentLevel
			v = math.NaN()
		}
		if c.ties {
			v = math.Round(v*64) / 64
		}
		d.scores.V[i] = float64(float32(v))
	}
	for q := range c.q {
		if i := s.r.IntN(c.g); !(d.shared.Row(q)[i] >= 1 && d.shared.Row(q)[i] <= float64(c.levels)) {
			d.shared.Row(q)[i], d.scores.Row(q)[i] = 1, 0.25
		}
		for l := 1; l <= c.levels; l++ {
			d.rel.Row(q)[l] = float64(float32(0.1 + s.r.Float64())) // not monotonic
		}
	}
	d.recount()
	return d
}

// recount updates the number of items at each level.
func (d *rankData) recount() {
	clear(d.count.V)
	for q := range d.q {
		for _, l := range d.shared.Row(q) {
			if l <= float64(d.levels) {
				d.count.Row(q)[int(l)]++
			}
		}
	}
}

func (d *rankData) sh(q int) []uint8 {
	out := make([]uint8, d.g)
	for i, l := range d.shared.Row(q) {
		out[i] = uint8(l)
	}
	return out
}

func (d *rankData) counts(q int) []int32 {
	out := make([]int32, d.levels+1)
	for l, n := range d.count.Row(q) {
		out[l] = int32(n)
	}
	return out
}

func (d *rankData) s32(q int) []float32 {
	out := make([]float32, d.g)
	for i, v := range d.scores.Row(q) {
		out[i] = float32(v)
	}
	return out
}

func (d *rankData) existing(i int) bool { return d.shared.V[i] <= float64(d.levels) }

// onDevice uploads the case.
func (s *suite) onDevice(d *rankData) (scores, shared, rel, count device.Array) {
	return s.putView(device.F32, d.scores), s.putView(device.U8, d.shared), s.putView(device.F32, d.rel),
		s.putView(device.I32, d.count)
}

// rankSteps returns the steps of every rank loss, and a mixture with a different step at each
// place of the table.
func rankSteps() []namedSteps {
	same := func(s device.Step) [3]device.Step { return [3]device.Step{s, s, s} }
	sigmoid := device.Step{Kind: device.Sigmoid, Tau: 0.01}
	wide := device.Step{Kind: device.Sigmoid, Tau: 0.3}
	exact := device.Step{Kind: device.Heaviside}
	paper := device.Step{Kind: device.Upper, Tau: 0.01, Rho: 100, Delta: 0.05, Start: 0.5, Zero: 1, AutoOffset: true}
	released := device.Step{Kind: device.Upper, Tau: 0.01, Rho: 100, Delta: 0.05, Start: 0.5, Zero: 0.5, Offset: 1.44}
	noMiddle := device.Step{Kind: device.Upper, Tau: 0.02, Rho: 10, Start: 0.5, Zero: 0.5, AutoOffset: true}
	asSigmoid := device.Step{Kind: device.Upper, Tau: 0.01, Rho: -1, Delta: 0.05, Start: 0.5, Zero: 1}
	leak := device.Step{Kind: device.Leak, LeakSlope: 10, Beta: 25, Gamma: 0.5}
	return []namedSteps{
		{"smooth", &device.Steps{Rank: same(sigmoid), Plus: same(sigmoid)}},
		{"sup", &device.Steps{Rank: [3]device.Step{exact, exact, paper}, Plus: same(exact)}},
		{"recall", &device.Steps{Rank: same(wide)}},
		{"released", &device.Steps{Rank: [3]device.Step{exact, exact, released}, Plus: same(exact)}},
		{"hrank", &device.Steps{Rank: [3]device.Step{exact, exact, paper}, Plus: [3]device.Step{leak, exact, exact}}},
		{"rho-1", &device.Steps{Rank: [3]device.Step{exact, exact, asSigmoid}, Plus: same(exact)}},
		{"no-middle", &device.Steps{Rank: [3]device.Step{exact, exact, noMiddle}, Plus: same(exact)}},
		{"mixed", &device.Steps{Rank: [3]device.Step{sigmoid, wide, paper}, Plus: [3]device.Step{released, leak, leak}}},
	}
}

type namedSteps struct {
	name string
	*device.Steps
}

func testShared(s *suite, b device.Rank) {
	for _, c := range []struct {
		q, g, levels int
		o            device.SharedKind
	}{
		{1, 1, 1, device.SharedKind{}},
		{2, 31, 1, device.SharedKind{Self: device.SelfAbsent}},
		{33, 32, 2, device.SharedKind{Self: device.SelfZero}},
		{3, 33, 3, device.SharedKind{}},
		{31, 127, 3, device.SharedKind{From: 1, To: 2, Self: device.SelfAbsent}},
		{2, 1025, 3, device.SharedKind{To: 2}},
		{5, 129, 7, device.SharedKind{}},
		{33, 300, 2, device.SharedKind{Self: device.SelfAbsent}},
		{17, 40, 4, device.SharedKind{From: 1, Self: device.SelfZero}},
		{18, 270, 3, device.SharedKind{From: 2}},
	} {
		// The labels do not form a tree, since Shared counts equal columns regardless of a
		// hierarchy. A fourth of them are −1.
		ql, gl, self := zeros(c.q, c.levels), zeros(c.g, c.levels), zeros(c.q)
		for _, a := range []*array{ql, gl} {
			for i := range a.V {
				a.V[i] = float64(s.r.IntN(4) - 1)
			}
		}
		for q := range self.V {
			self.V[q] = float64(s.r.IntN(c.g+1) - 1)
		}
		for g := range min(3, c.g-1) {
			for l := range c.levels {
				gl.Row(g)[l] = -1
			}
		}
		for _, given := range []bool{true, false} {
			selfArray := absent
			if given {
				selfArray = s.put(device.I32, self)
			}
			want := zeros(c.q, c.g)
			for q := range c.q {
				for g := range c.g {
					own := given && self.V[q] == float64(g)
					want.Row(q)[g] = reference.Shared(ql.Row(q), gl.Row(g), own, c.o)
				}
			}
			got := s.view(device.U8, c.q, c.g)
			b.Shared(got, s.putView(device.I32, ql), s.putView(device.I32, gl), selfArray, c.o)
			s.equal(fmt.Sprint("Shared", c), got, want.V)
		}
	}
}

// A query that labels relate to no item has neither loss nor gradient.
func testRowsWithoutItems(s *suite, b device.Rank) {
	const q, g = 2, 70
	none, zero, nowhere := zeros(q, g), zeros(q, g), zeros(q, g)
	for i := range none.V {
		none.V[i], nowhere.V[i] = device.AbsentLevel, math.NaN()
	}
	sh, scores, drank := s.put(device.U8, none), s.put(device.F32, nowhere), s.put(device.F32, zero)
	loss, ds, count := s.alloc(device.F32, q), s.view(device.F32, q, g), s.view(device.I32, q, 2)
	pairs := func(what string) {
		s.equal(what+": loss", loss, zeros(q).V)
		s.equal(what+": gradient", ds, zero.V)
	}
	for _, o := range pairKinds(1) {
		b.PairLoss(loss, count, ds, scores, sh, &o)
		pairs(fmt.Sprint("PairLoss ", o.Kind))
		s.equal("PairLoss: count", count, zeros(q, 2).V)
	}
	b.BinLoss(loss, ds, scores, sh, &device.Bins{N: 5, Min: -1, Max: 1})
	pairs("BinLoss")
	b.Ranks(ds, scores, sh, 0)
	s.equal("Ranks", ds, zero.V)
	b.RanksGrad(ds, drank, scores, sh, 4)
	s.equal("RanksGrad", ds, zero.V)
}

func testRelevance(s *suite, b device.Rank) {
	for _, c := range append(rankCases(effort.Exhaustive()), rankCase{4, 9, 3, 0, false}) {
		d := s.ranking(c)
		if c.positives == 0 { // query without a positive
			for i := range d.shared.V[:3*c.g] {
				d.shared.V[i] = 0
			}
			for q := range 3 {
				d.count.Row(q)[0] = float64(c.g)
				clear(d.count.Row(q)[1:])
			}
		}
		for _, o := range []device.RelKind{
			{},
			{AllQ: true},
			{Mode: device.RelPop, Alpha: 1, Divisor: float32(c.levels)},
			{Mode: device.RelPop, Alpha: 5, Divisor: 2, CountSelf: true},
			{Mode: device.RelMap, Weights: []float32{0.5, 0.25, 0.125, 1, 2, 3, 4}[:c.levels]},
			{Mode: device.RelMap, Weights: []float32{0, 1, 1, 1, 1, 1, 1}[:c.levels], CountSelf: true},
		} {
			rel, count := s.view(device.F32, c.q, c.levels+1), s.view(device.I32, c.q, c.levels+1)
			weight := s.alloc(device.F32, c.q)
			b.Relevance(rel, count, weight, s.putView(device.U8, d.shared), o)
			what := fmt.Sprint("Relevance", c, o)
			s.equal(what+": count", count, d.count.V)
			wantRel, wantWeight := reference.Relevance(d.count, o)
			s.same(what, rel, wantRel, 1e-6) // error of a power and a quotient
			s.same(what+": weight", weight, wantWeight, 1e-7)
		}
	}
}

// definedRanks returns the reference PairRank of all queries.
func definedRanks(d *rankData, h *device.Steps) (rank, plus *array) {
	rank, plus = zeros(d.q, d.g), zeros(d.q, d.g)
	for q := range d.q {
		reference.PairRank(rank.Row(q), plus.Row(q), d.s32(q), d.sh(q), d.rel.Row(q), reference.NewSteps(h))
	}
	return rank, plus
}
