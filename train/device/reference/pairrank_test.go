package reference

import (
	"math"
	"testing"

	"hgld/train/device"
)

// Steps with τ 0.01, ρ 100, δ 0.05: continuous, and with the constants of the
// released code for SOP and for iNaturalist.
var (
	handSigmoid    = Step{Kind: device.Sigmoid, Tau: 0.01}
	handContinuous = Step{Kind: device.Upper, Tau: 0.01, Rho: 100, Delta: 0.05, Start: 0.5,
		Offset: 0.5 + Sigmoid(5), Zero: 0.5}
	handSOP  = Step{Kind: device.Upper, Tau: 0.01, Rho: 100, Delta: 0.05, Start: 0.5, Offset: 1.44, Zero: 0.5}
	handINat = Step{Kind: device.Upper, Tau: 0.01, Rho: 100, Delta: 0.05, Offset: 1, Zero: 0.5}
	handH    = Step{Kind: device.Heaviside}
)

func smoothBy(s Step) *Steps { return &Steps{[3]Step{s, s, s}, [3]Step{s, s, s}} }

func supBy(s Step) *Steps { return &Steps{[3]Step{handH, handH, s}, [3]Step{handH, handH, handH}} }

// The published numbers have seven digits behind the point.
const printed = 6e-8

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= printed*max(1, math.Abs(want)*10)) {
		t.Errorf("%s is %.9f, want %.9f", what, got, want)
	}
}

func TestStepHasThePublishedValues(t *testing.T) {
	for _, c := range []struct {
		t                            float64
		continuous, sop, iNat, slope float64
	}{
		{-0.05, 0.0066929, 0.0066929, 0.0066929, 0.664806},
		{-0.01, 0.2689414, 0.2689414, 0.2689414, 19.661193},
		{0, 0.5, 0.5, 0.5, 25},
		{0.001, 1.0249792, 1.0249792, 0.5249792, 24.937604},
		{0.01, 1.2310586, 1.2310586, 0.7310586, 19.661193},
		{0.02, 1.3807971, 1.3807971, 0.8807971, 10.499359},
		{0.05, 1.4933071, 1.4933071, 0.9933071, 0.664806},
		{0.06, 2.4933071, 2.44, 2.0, 100},
		{0.1, 6.4933071, 6.44, 6.0, 100},
		{1, 96.4933071, 96.44, 96.0, 100},
	} {
		near(t, "continuous", handContinuous.Value(c.t), c.continuous)
		near(t, "SOP", handSOP.Value(c.t), c.sop)
		near(t, "iNaturalist", handINat.Value(c.t), c.iNat)
		for _, s := range []Step{handContinuous, handSOP, handINat} {
			if d := s.Slope(c.t); math.Abs(d-c.slope) > 5e-7 {
				t.Errorf("slope at %v is %v, want %v", c.t, d, c.slope)
			}
		}
	}
	paper := handContinuous
	paper.Zero = 1
	if paper.Value(0) != 1 || paper.Slope(0) != 25 {
		t.Errorf("the paper's H⁻(0) is %v with slope %v, want 1 and 25", paper.Value(0), paper.Slope(0))
	}
	if s := newStep(device.Step{Kind: device.Upper, Rho: -1, Tau: 0.5}); s.Value(0.5) != Sigmoid(1) {
		t.Error("rho −1 is not a sigmoid")
	}
	if s := newStep(device.Step{Kind: device.Upper, Rho: 1, Tau: 0.01, Delta: 0.05, Start: 0.5,
		AutoOffset: true}); math.Abs(s.Value(0.0500001)-s.Value(0.05)) > 1e-6 {
		t.Error("the automatic offset does not make H⁻ continuous")
	}
}

// hand is a query whose losses can be checked with pencil and paper.
type hand struct {
	s   []float64
	sh  []uint8
	rel []float64
}

var (
	// The first item is the query itself.
	handBinary = hand{[]float64{1, 0.80, 0.82, 0.50, 0.30, 0.305}, []uint8{1, 1, 0, 0, 1, 0}, []float64{0, 1}}
	handAlone  = hand{handBinary.s, []uint8{device.AbsentLevel, 1, 0, 0, 1, 0}, []float64{0, 1}}
	handTree   = hand{[]float64{1, 0.9, 0.92, 0.7, 0.6, 0.75, 0.2}, []uint8{2, 2, 1, 0, 1, 2, 0},
		[]float64{0, 1.0 / 2, 2.0 / 3}}
	handSteep = hand{handTree.s, handTree.sh, []float64{0, 0.5, 32.0 / 3}}
)

func (c hand) run(h *Steps, o *device.Score) definition {
	n := len(c.s)
	d := definition{make([]float64, n), make([]float64, n), make([]float64, n), 0}
	u, v := make([]float64, n), make([]float64, n)
	count := countLevels(c.sh, len(c.rel)-1)
	PairRank(d.rank, d.plus, c.s, c.sh, c.rel, h)
	d.loss = RankScore(u, v, d.rank, d.plus, c.sh, c.rel, count, o)
	PairRankGrad(d.ds, u, v, c.s, c.sh, c.rel, h)
	return d
}

var (
	ap       = &device.Score{}
	ndcg     = &device.Score{Kind: device.ScoreNDCG}
	recall16 = &device.Score{Kind: device.ScoreRecall, At: []float32{1, 2, 4, 8, 16}, Temp: []float32{1, 1, 1, 1, 1}}
	recall10 = &device.Score{Kind: device.ScoreRecall, At: []float32{10}, Temp: []float32{1}}
)

func TestRankLossesOfAHandCase(t *testing.T) {
	original := handBinary
	original.sh = []uint8{0, 1, 0, 0, 1, 0} // counted, but no positive
	clipped := *recall16
	clipped.Clip = true
	for _, c := range []struct {
		what string
		c    hand
		h    *Steps
		o    *device.Score
		loss float64
		ds   []float64
	}{
		{"exact AP", handBinary, supBy(handH), ap, 5.0 / 18, make([]float64, 6)},
		{"exact AP without the query", handAlone, supBy(handH), ap, 0.55, nil},
		{"Smooth-AP", handBinary, smoothBy(handSigmoid), ap, 0.257391126, []float64{-5e-7, -.8434244, .8434249, 0, -.7433992,
			.7433992}},
		{"Sup-AP", handBinary, supBy(handContinuous), ap, 0.455004635, []float64{-5e-7, -.6123973, .6333356, .0209377,
			-.0467959, .0049204}},
		{"Sup-AP SOP", handBinary, supBy(handSOP), ap, 0.454982278, []float64{-5e-7, -.6123973, .6334003, .0210025, -.0469407,
			.0049357}},
		{"Sup-AP iNaturalist", handBinary, supBy(handINat), ap, 0.420461252, []float64{-5e-7, -.8434244, .8652934, .0218685,
			-.0488761, .0051392}},
		{"Smooth-AP without the query", handAlone, smoothBy(handSigmoid), ap, 0.517820209, nil},
		{"Sup-AP without the query", handAlone, supBy(handContinuous), ap, 0.775303970, nil},
		{"Sup-AP SOP without the query", handAlone, supBy(handSOP), ap, 0.775280951, nil},
		{"Sup-AP iNaturalist without the query", handAlone, supBy(handINat), ap, 0.719145312, nil},
		{"Smooth-R@k", handBinary, smoothBy(handSigmoid), recall16, 0.247952005, nil},
		{"Sup-R@k", handBinary, supBy(handSOP), recall16, 0.417080796, nil},
		{"Sup-R@k iNaturalist", handBinary, supBy(handINat), recall16, 0.391162986, nil},
		{"Sup-R@10", handBinary, supBy(handSOP), recall10, 0.333818703, nil},
		{"R@k original", original, smoothBy(handSigmoid), &clipped, 0.456907812,
			[]float64{0, -.6595933, .6595933, 0, -.6110812, .6110812}},
		{"Smooth-H-AP", handTree, smoothBy(handSigmoid), ap, 0.059018498, nil},
		{"Sup-H-AP", handTree, supBy(handContinuous), ap, 0.307415116, nil},
		{"Sup-H-AP SOP", handTree, supBy(handSOP), ap, 0.306913562, []float64{-.0074447, -.5613642, .8768876, .6387948,
			-.6367466, -.3101268, 0}},
		{"Sup-H-AP iNaturalist", handTree, supBy(handINat), ap, 0.271233830, nil},
		{"Smooth-H-AP α 5", handSteep, smoothBy(handSigmoid), ap, 0.174256406, nil},
		{"Sup-H-AP α 5", handSteep, supBy(handContinuous), ap, 0.399747008, nil},
		{"Sup-H-AP α 5 SOP", handSteep, supBy(handSOP), ap, 0.399522833, nil},
		{"Sup-H-AP α 5 iNaturalist", handSteep, supBy(handINat), ap, 0.363645906, nil},
		{"Smooth-NDCG", handTree, smoothBy(handSigmoid), ndcg, 0.058405494, nil},
		{"Sup-NDCG", handTree, supBy(handContinuous), ndcg, 0.162467329, nil},
		{"Sup-NDCG SOP", handTree, supBy(handSOP), ndcg, 0.162295241, nil},
		{"Sup-NDCG iNaturalist", handTree, supBy(handINat), ndcg, 0.143385640, nil},
	} {
		d := c.c.run(c.h, c.o)
		near(t, c.what, d.loss, c.loss)
		for i := range c.ds {
			near(t, c.what+": gradient", d.ds[i], c.ds[i])
		}
		sum := 0.0
		for _, v := range d.ds {
			sum += v
		}
		if math.Abs(sum) > 1e-12 {
			t.Errorf("%s: gradients add up to %v", c.what, sum)
		}
	}
}

func TestRanksOfAHandCase(t *testing.T) {
	for _, c := range []struct {
		c    hand
		h    *Steps
		rank []float64
	}{
		{handBinary, smoothBy(handSigmoid), []float64{1, 2.880797, 0, 0, 5.622459, 0}},
		{handBinary, supBy(handContinuous), []float64{1, 3.380797, 0, 0, 69.109074, 0}},
		{handBinary, supBy(handSOP), []float64{1, 3.380797, 0, 0, 69.002459, 0}},
		{handBinary, supBy(handINat), []float64{1, 2.880797, 0, 0, 67.622459, 0}},
		{handTree, supBy(handINat), []float64{1.000335, 2.880797, 2, 0, 11, 16.006693, 0}},
	} {
		rank := c.c.run(c.h, ap).rank
		for k, want := range c.rank {
			if math.Abs(rank[k]-want) > 6e-7 {
				t.Errorf("rank of %d is %.6f, want %.6f", k, rank[k], want)
			}
		}
	}
}

// H-AP is the area under the curve of hierarchical recall and precision: Σ over
// places of the increase of H-R@k times H-P@k.
func TestHierarchicalAPIsTheAreaUnderItsCurve(t *testing.T) {
	d := handTree.run(supBy(handH), ap)
	order := []int{0, 2, 1, 5, 3, 4, 6} // by falling score
	total, gained, ap := 0.0, 0.0, 0.0
	for _, l := range handTree.sh {
		total += handTree.rel[l]
	}
	for place, i := range order {
		r := handTree.rel[handTree.sh[i]]
		gained += r / total
		precision := 0.0
		for _, j := range order[:place+1] {
			precision += min(r, handTree.rel[handTree.sh[j]])
		}
		if r > 0 {
			ap += r / total * precision / (r * float64(place+1))
		}
	}
	if math.Abs(gained-1) > 1e-12 || math.Abs(1-ap-d.loss) > 1e-12 {
		t.Errorf("1 − H-AP is %v, the area leaves %v", d.loss, 1-ap)
	}
}

// definition is what the rank op gives of a row.
type definition struct {
	rank, plus, ds []float64
	loss           float64
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
