package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// The steps of the losses with the constants of their papers.
var (
	testSigmoid = device.Step{Kind: device.Sigmoid, Tau: 0.01}
	testUpper   = device.Step{Kind: device.Upper, Tau: 0.01, Rho: 100, Delta: 0.05, Start: 0.5, Zero: 1, AutoOffset: true}
	testJump    = device.Step{Kind: device.Upper, Tau: 0.01, Rho: 100, Delta: 0.05, Start: 0.5, Zero: 0.5, Offset: 1.44}
	testH       = device.Step{Kind: device.Heaviside}
	testLeak    = device.Step{Kind: device.Leak, LeakSlope: 10, Beta: 25, Gamma: 0.5}
)

func same(s device.Step) [3]device.Step { return [3]device.Step{s, s, s} }

var testSteps = []struct {
	name string
	h    device.Steps
}{
	{"smooth", device.Steps{Rank: same(testSigmoid), Plus: same(testSigmoid)}},
	{"sup", device.Steps{Rank: [3]device.Step{testH, testH, testUpper}, Plus: same(testH)}},
	{"jump", device.Steps{Rank: [3]device.Step{testH, testH, testJump}, Plus: same(testH)}},
	{"hrank", device.Steps{Rank: [3]device.Step{testH, testH, testUpper}, Plus: [3]device.Step{testLeak, testH, testH}}},
	{"mixed", device.Steps{
		Rank: [3]device.Step{{Kind: device.Sigmoid, Tau: 0.05}, testSigmoid, testUpper},
		Plus: [3]device.Step{testUpper, testLeak, testLeak},
	}},
	{"wide", device.Steps{Rank: same(device.Step{Kind: device.Sigmoid, Tau: 3}),
		Plus: same(device.Step{Kind: device.Sigmoid, Tau: 0.3})}},
}

// testRow returns one query: scores with ties, levels up to L with the given number of
// positives, and some absent items.
func testRow(seed uint64, g, levels, positives int, ties bool) ([]float32, []uint8) {
	rng := rand.New(rand.NewPCG(seed, 1))
	s, sh := make([]float32, g), make([]uint8, g)
	for i := range s {
		s[i] = float32(rng.NormFloat64() * 0.15)
		if i < positives {
			sh[i] = uint8(1 + rng.IntN(levels))
			s[i] += 0.2
		} else if rng.IntN(10) == 0 {
			sh[i] = device.AbsentLevel
			s[i] = float32(math.NaN()) // must not be read
		}
		if ties {
			s[i] = float32(math.Round(float64(s[i])*32) / 32)
		}
	}
	rng.Shuffle(g, func(i, j int) { s[i], s[j], sh[i], sh[j] = s[j], s[i], sh[j], sh[i] })
	return s, sh
}

type definition struct {
	rank, plus, ds []float64
	loss           float64
}

// define returns the reference rank loss of a row.
func define(s []float32, sh []uint8, rel []float64, count []int32, h *reference.Steps, o *device.Score) definition {
	g := len(s)
	d := definition{make([]float64, g), make([]float64, g), make([]float64, g), 0}
	u, v := make([]float64, g), make([]float64, g)
	reference.PairRank(d.rank, d.plus, s, sh, rel, h)
	d.loss = reference.RankScore(u, v, d.rank, d.plus, sh, rel, count, o)
	reference.PairRankGrad(d.ds, u, v, s, sh, rel, h)
	return d
}

func countLevels(sh []uint8, levels int) []int32 {
	n := make([]int32, levels+1)
	for _, l := range sh {
		if int(l) <= levels {
			n[l]++
		}
	}
	return n
}

// farthest returns max|a−b| / max|b|.
func farthest(a, b []float64) float64 {
	d, m := 0.0, 0.0
	for i := range a {
		if !(math.Abs(a[i]-b[i]) <= d) {
			d = math.Abs(a[i] - b[i])
		}
		m = max(m, math.Abs(b[i]))
	}
	if m == 0 {
		return d
	}
	return d / m
}

// rowErrors holds the largest errors of a row. Errors of ranks and gradient are relative to
// their largest element. The error of the loss is absolute.
type rowErrors struct{ rank, plus, loss, ds float64 }

func (e rowErrors) worst() float64 { return max(e.rank, e.plus, e.loss, e.ds) }

// rowError computes one row and compares it with the reference. It uses the pair sum for up to
// few positives, and the sorting algorithm for more. plain selects the loops in Go.
func rowError(s []float32, sh []uint8, rel []float64, h *device.Steps, few int, plain bool) rowErrors {
	g, o := len(s), &device.Score{}
	count := countLevels(sh, len(rel)-1)
	want := define(s, sh, rel, count, reference.NewSteps(h), o)
	r := rankRow{rel: rel}
	r.plain = plain
	var p rankPlan
	p.set(h, len(rel)-1)
	r.load(s, sh, count, few)
	loss := r.forward(&p, count, o)
	ds := make([]float32, g)
	r.gradient(&p, ds)
	rank, plus, wide := make([]float64, g), make([]float64, g), make([]float64, g)
	for k := range r.level {
		i := r.row[int(r.start[1])+k]
		rank[i], plus[i] = r.rank[k], r.plus[k]
	}
	widen(wide, ds)
	return rowErrors{farthest(rank, want.rank), farthest(plus, want.plus), math.Abs(loss - want.loss),
		farthest(wide, want.ds)}
}

// Both algorithms match the reference for every kind of step, with and without ties, and for
// any numbers of items and positives. The tolerance adds 3e-7 for a pair in float32, 2e-8 for
// the polynomials of the tails relative to a slope of 1/4, and 6e-8 for the rounding of the
// result.
func TestRankLossOfARowMatchesTheDefinition(t *testing.T) {
	for _, step := range testSteps {
		for _, c := range []struct{ g, levels, positives int }{
			{1, 1, 1}, {2, 1, 1}, {9, 2, 9}, {40, 1, 3}, {40, 3, 20}, {333, 2, 100}, {333, 7, 200}, {1500, 3, 30},
		} {
			for _, ties := range []bool{false, true} {
				s, sh := testRow(uint64(c.g+c.positives), c.g, c.levels, c.positives, ties)
				rel := []float64{0, 0.7, 0.4, 0.9, 1, 1.2, 1.1, 2}[:c.levels+1]
				for _, few := range []int{0, c.g} {
					if e := rowError(s, sh, rel, &step.h, few, false); !(e.worst() < 1e-6) {
						t.Errorf("%s, %v, ties %v, pairs up to %d positives: errors %.1e", step.name, c, ties, few, e)
					}
				}
			}
		}
	}
}

// The loops in Go, which other processors use, match the reference too.
func TestRankLossWithoutVectorsMatchesTheDefinition(t *testing.T) { rowsMatchTheDefinition(t, true) }

// rowsMatchTheDefinition computes rows of 700 items by both algorithms.
func rowsMatchTheDefinition(t *testing.T, plain bool) {
	t.Helper()
	for _, step := range testSteps {
		s, sh := testRow(5, 700, 3, 60, true)
		for _, few := range []int{0, 700} {
			if e := rowError(s, sh, []float64{0, 0.7, 0.4, 0.9}, &step.h, few, plain); !(e.worst() < 1e-6) {
				t.Errorf("%s, pairs up to %d positives: errors %.1e", step.name, few, e)
			}
		}
	}
}

// The errors do not grow with the row. 60,000 items have enough positives to be sorted, and
// few enough for the reference to finish.
func TestRankLossOfALongRowMatchesTheDefinition(t *testing.T) {
	const g = 60000
	for _, c := range []struct{ levels, positives int }{{1, 4}, {2, 60}} {
		s, sh := testRow(uint64(c.positives), g, c.levels, c.positives, false)
		for _, step := range testSteps[:3] {
			e := rowError(s, sh, []float64{0, 0.4, 0.7}[:c.levels+1], &step.h, fewPositives(), false)
			t.Logf("%s, %d positives: rank %.1e, plus %.1e, loss %.1e, gradient %.1e", step.name, c.positives, e.rank, e.plus,
				e.loss, e.ds)
			if !(e.rank < 1e-7 && e.plus < 1e-7 && e.loss < 1e-7 && e.ds < 3e-7) {
				t.Errorf("%s, %d positives: errors %.1e", step.name, c.positives, e)
			}
		}
	}
}
