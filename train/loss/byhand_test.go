package loss_test

import (
	"math"
	"testing"

	"hgld/train/loss"
	"hgld/train/loss/definition"
)

// onScores is a batch of one query whose scores are given: against a gallery of
// unit vectors they are its embedding, and the gradient by one is that by the
// other. Item i is of the class paths[i], the query of paths[0], and its own row is
// the first if self.
func onScores(scores []float64, paths [][]int32, self bool) *batch {
	b := &batch{Query: [][]float64{scores}, Labels: paths[:1], Against: paths,
		Gallery: definition.Zeros(len(scores), len(scores)),
		Self:    []int32{-1}}
	if self {
		b.Self[0] = 0
	}
	for i := range scores {
		b.Gallery[i][i] = 1
	}
	return b
}

// byLevel makes paths of L levels that share the given numbers of levels with the
// first one's.
func byLevel(L int, shared ...int) (paths [][]int32) {
	for i, l := range shared {
		p := make([]int32, L)
		for c := range L - l { // finest first
			p[c] = int32(i + 1)
		}
		paths = append(paths, p)
	}
	return paths
}

var (
	sopStep  = loss.HMinus{Tau: 0.01, Rho: 100, Delta: 0.05, Start: 0.5, Offset: new(1.44), Zero: 0.5}
	inatStep = loss.HMinus{Tau: 0.01, Rho: 100, Delta: 0.05, Start: 0, Offset: new(1.0), Zero: 0.5}
	autoStep = loss.HMinus{Tau: 0.01, Rho: 100, Delta: 0.05, Start: 0.5, Zero: 0.5}
)

// onCentre stands for the slope of a score on the centre of a bin: there are two.
var onCentre = math.NaN()

// Six scores of which a hand can compute every rank: two positives, 0.80 just behind
// a negative and 0.30 behind three.
func TestLossesOfSixScoresAreThoseComputedByHand(t *testing.T) {
	scores := []float64{1, 0.80, 0.82, 0.50, 0.30, 0.305}
	paths := byLevel(1, 1, 1, 0, 0, 1, 0)
	with, without := loss.GalleryOptions{SelfInGallery: true}, loss.GalleryOptions{}
	at, temps := []float64{1, 2, 4, 8, 16}, loss.Temperatures{Each: []float64{0.5, 1, 2, 4, 8}}
	for _, c := range []struct {
		name  string
		k     loss.Kind
		value float64
		grad  []float64 // by the score of items 1 to 5; nil: not known
	}{
		{"smooth-ap", loss.SmoothAP{Tau: 0.01, GalleryOptions: with}, 0.257391126,
			[]float64{-.8434244, .8434249, 0, -.7433992, .7433992}},
		{"sup-ap, continuous", loss.SupAP{HMinus: autoStep, GalleryOptions: with}, 0.455004635,
			[]float64{-.6123973, .6333356, .0209377, -.0467959, .0049204}},
		{"sup-ap, SOP", loss.SupAP{HMinus: sopStep, GalleryOptions: with}, 0.454982278,
			[]float64{-.6123973, .6334003, .0210025, -.0469407, .0049357}},
		{"sup-ap, iNat", loss.SupAP{HMinus: inatStep, GalleryOptions: with}, 0.420461252,
			[]float64{-.8434244, .8652934, .0218685, -.0488761, .0051392}},
		{"smooth-ap, paper", loss.SmoothAP{Tau: 0.01, GalleryOptions: without}, 0.517820209, nil},
		{"sup-ap, continuous, paper", loss.SupAP{HMinus: autoStep, GalleryOptions: without}, 0.775303970, nil},
		{"sup-ap, SOP, paper", loss.SupAP{HMinus: sopStep, GalleryOptions: without}, 0.775280951, nil},
		{"sup-ap, iNat, paper", loss.SupAP{HMinus: inatStep, GalleryOptions: without}, 0.719145312, nil},
		{"smooth-recall", loss.SmoothRecall{Tau: 0.01, AtK: at, Temp: loss.Temperatures{All: 1}, GalleryOptions: with},
			0.247952005, []float64{-.5925805, .5925806, 0, -.4423411, .4423411}},
		{"smooth-recall, a temperature for each k", loss.SmoothRecall{Tau: 0.01, AtK: at, Temp: temps, GalleryOptions: with},
			0.355079564, []float64{-.4334288, .4334290, 0, -.3500823, .3500823}},
		{"sup-recall, a temperature for each k", loss.SupRecall{HMinus: sopStep, AtK: at, Temp: temps, GalleryOptions: with},
			0.491516913, []float64{-.3335799, .3346829, .0011028, -.0024647, .0002592}},
		{"sup-recall, SOP", loss.SupRecall{HMinus: sopStep, AtK: at, Temp: loss.Temperatures{All: 1}, GalleryOptions: with},
			0.417080796, nil},
		{"sup-recall, iNat", loss.SupRecall{HMinus: inatStep, AtK: at, Temp: loss.Temperatures{All: 1}, GalleryOptions: with},
			0.391162986, nil},
		{"sup-recall at 10", loss.SupRecall{HMinus: sopStep, AtK: []float64{10}, Temp: loss.Temperatures{All: 1},
			GalleryOptions: with}, 0.333818703, nil},
		{"softbin-ap of 5 bins", loss.SoftBinAP{NQ: 5, Min: -1, Max: 1, GalleryOptions: with}, 0.386034183,
			[]float64{-.2795514, .3401361, onCentre, -.0634625, .0638567}},
		{"softbin-ap of 20 bins", loss.SoftBinAP{NQ: 20, Min: -1, Max: 1, GalleryOptions: with}, 0.274204744,
			[]float64{-.4424144, .1802874, 0, -.1020543, .1155602}},
		{"softbin-ap from 0", loss.SoftBinAP{NQ: 25, Max: 1, GalleryOptions: with}, 0.280553986, nil},
		{"blackbox-ap", loss.BlackBoxAP{Lambda: 4, Margin: 0.02, Epsilon: 1e-5, GalleryOptions: with}, 0.277780185,
			[]float64{-1. / 24, 1. / 12, 1. / 24, -1. / 8, 1. / 24}},
		{"rambo-recall, log", loss.RamboRecall{Lambda: 4, Margin: 0.02}, 1.039720771, []float64{-.05, .10, .05, -.15, .05}},
		{"rambo-recall, loglog", loss.RamboRecall{Lambda: 4, Margin: 0.02, Weight: loss.LogLog}, 0.698165360,
			[]float64{-.05, .10, .05, -.15, .05}},
		{"rambo-recall, lambda 0.2", loss.RamboRecall{Lambda: 0.2, Margin: 0.02}, 1.039720771, []float64{-1, 1, 0, -1, 1}},
	} {
		checkByHand(t, c.name, c.k, onScores(scores, paths, true), c.value, 1, c.grad)
	}
}

// checkByHand compares value and gradient, by scores from the given one on, with
// numbers of nine and seven digits.
func checkByHand(t *testing.T, name string, k loss.Kind, in *batch, value float64, from int, grad []float64) {
	t.Helper()
	for i, r := range []result{define(t, k, in), forward(t, backend(), k, in)} {
		tolerance := [2]float64{6e-10, 6e-8}
		if i == 1 { // scores in float32, and slopes of 1/τ
			tolerance = [2]float64{1e-5, 2e-5}
		}
		if math.Abs(r.Value-value) > tolerance[0]*max(1, value) {
			t.Errorf("%s: %.10f, want %.9f", name, r.Value, value)
		}
		for j, want := range grad {
			if got := r.Query[0][from+j]; math.Abs(got-want) > tolerance[1] {
				t.Errorf("%s: gradient by score %d is %.8f, want %.7f", name, from+j, got, want)
			}
		}
	}
}

func TestHierarchicalLossesOfSevenScoresAreThoseComputedByHand(t *testing.T) {
	in := onScores([]float64{1, 0.9, 0.92, 0.7, 0.6, 0.75, 0.2}, byLevel(2, 2, 2, 1, 0, 1, 2, 0), true)
	with := loss.GalleryOptions{SelfInGallery: true}
	rel := func(alpha float64) loss.Relevance {
		return loss.Relevance{Alpha: alpha, Divisor: -1, CountsQuery: true}
	}
	grad := []float64{-.0074447, -.5613642, .8768876, .6387948, -.6367466, -.3101268, 0}
	for _, c := range []struct {
		name        string
		step        loss.HMinus
		one, five   float64
		discounted  float64
		byScoresOf1 []float64
	}{
		{"continuous", autoStep, 0.307415116, 0.399747008, 0.162467329, nil},
		{"SOP", sopStep, 0.306913562, 0.399522833, 0.162295241, grad},
		{"iNat", inatStep, 0.271233830, 0.363645906, 0.143385640, nil},
	} {
		checkByHand(t, "sup-h-ap, "+c.name, loss.SupHAP{HMinus: c.step, Relevance: rel(1), GalleryOptions: with}, in, c.one,
			0, c.byScoresOf1)
		checkByHand(t, "sup-h-ap, alpha 5, "+c.name, loss.SupHAP{HMinus: c.step, Relevance: rel(5), GalleryOptions: with}, in,
			c.five, 0, nil)
		checkByHand(t, "sup-ndcg, "+c.name, loss.SupNDCG{HMinus: c.step, GalleryOptions: with}, in, c.discounted, 0, nil)
	}
	checkByHand(t, "smooth-h-ap", loss.SmoothHAP{Tau: 0.01, Relevance: rel(1), GalleryOptions: with}, in,
		0.059018498, 0, nil)
	checkByHand(t, "smooth-h-ap, alpha 5", loss.SmoothHAP{Tau: 0.01, Relevance: rel(5), GalleryOptions: with}, in,
		0.174256406, 0, nil)
	checkByHand(t, "smooth-ndcg", loss.SmoothNDCG{Tau: 0.01, GalleryOptions: with}, in, 0.058405494, 0, nil)
}

func TestPairLossesAreThoseComputedByHand(t *testing.T) {
	pairs := func(pos, neg []float64) *batch {
		var levels []int
		for range pos {
			levels = append(levels, 1)
		}
		for range neg {
			levels = append(levels, 0)
		}
		return onScores(append(append([]float64{}, pos...), neg...), byLevel(1, levels...), false)
	}
	calibrated := pairs([]float64{.95, .85, .70, 1}, []float64{.5, .65, .8, .61})
	checkByHand(t, "calibration", loss.Calibration{PosMargin: 0.9, NegMargin: 0.6}, calibrated, .1275, 0, nil)
	checkByHand(t, "calibration, released", loss.Calibration{PosMargin: 0.9, NegMargin: 0.6, Reduction: loss.Violations},
		calibrated, .125+.26/3, 0, nil)
	checkByHand(t, "xbm-contrastive", loss.XBMContrastive{Margin: 0.5, Epsilon: 1e-5},
		pairs([]float64{1, .9, .4}, []float64{.6, .5, .2, .51}), 1.81, 0, nil)
	similar := pairs([]float64{.9, .4}, []float64{.6, .5, .2, .35})
	checkByHand(t, "multi-similarity, mined", loss.MultiSimilarity{Alpha: 2, Beta: 40, Base: .5, Mining: true,
		MiningMargin: .1, Epsilon: 1e-5}, similar, .499969937, 0, nil)
	checkByHand(t, "multi-similarity", loss.MultiSimilarity{Alpha: 2, Beta: 50, Base: .5}, similar, .591444036, 0, nil)
	negatives := []float64{.6, .5, .2, .35, .97}
	checkByHand(t, "triplet with the query", loss.Triplet{Margin: .05}, pairs([]float64{.9, .4, 1}, negatives),
		.232, 0, nil)
	checkByHand(t, "triplet", loss.Triplet{Margin: .05}, pairs([]float64{.9, .4}, negatives), .285, 0, nil)
}

// degree is one in radians.
const degree = math.Pi / 180

// atAngles are unit vectors of the plane.
func atAngles(degrees ...float64) (rows [][]float64) {
	for _, d := range degrees {
		sin, cos := math.Sincos(d * degree)
		rows = append(rows, []float64{cos, sin})
	}
	return rows
}

// Proxies at given angles in the plane, one for each class.
func TestProxyLossesAreThoseComputedByHand(t *testing.T) {
	plane := func(angle float64, class int32) *batch {
		return (&batch{Query: atAngles(angle), Labels: [][]int32{{class}}, Proxies: atAngles(0, 60, 150)}).Own()
	}
	for _, c := range []struct {
		name   string
		k      loss.Kind
		in     *batch
		value  float64
		levels int
	}{
		{"nsm", loss.NSM{Temperature: 0.05}, plane(20, 0), .030553405, 1},
		{"nsm", loss.NSM{Temperature: 0.05}, plane(100, 1), .081577436, 1},
		{"nca-pp", loss.NCAPP{Scale: 3}, plane(20, 0), .042971007, 1},
		{"nca-pp", loss.NCAPP{Scale: 3}, plane(100, 1), .103241202, 1},
		{"arcface", loss.ArcFace{S: 30, M: .5}, plane(20, 0), 3.202311476, 1},
		{"arcface", loss.ArcFace{S: 30, M: .5}, plane(100, 1), 8.360908682, 1},
		{"arcface, margin .3", loss.ArcFace{S: 30, M: .3}, plane(20, 0), .335946997, 1},
		{"arcface, margin .3", loss.ArcFace{S: 30, M: .3}, plane(100, 1), 3.074727444, 1},
		{"arcface beyond π − m", loss.ArcFace{S: 30, M: .5}, plane(190, 0), 59.716948963, 1},
		{"arcface, smoothed", loss.ArcFace{S: 30, M: .5, Smoothing: .1}, plane(20, 0), 2.305831824, 1},
		{"arcface, smoothed", loss.ArcFace{S: 30, M: .5, Smoothing: .1}, plane(100, 1), 7.111649034, 1},
		{"arcface, smoothed, before π − m", loss.ArcFace{S: 30, M: .5, Smoothing: .1}, plane(151.3, 0), 59.613296210, 1},
		{"arcface, smoothed, beyond π − m", loss.ArcFace{S: 30, M: .5, Smoothing: .1}, plane(151.4, 0), 62.908397191, 1},
		{"arcface, smoothed, far beyond π − m", loss.ArcFace{S: 30, M: .5, Smoothing: .3}, plane(190, 0), 57.072834365, 1},
		{"arcface, smoothed, easy", loss.ArcFace{S: 30, M: .3, EasyMargin: true, Smoothing: .3}, plane(100, 0),
			27.540599582, 1},
		{"csl", loss.CSL{Scale: 32}, (&batch{
			Query: atAngles(15), Labels: [][]int32{{0, 0}}, Proxies: atAngles(0, 40, 100, 150),
			Paths: [][]int32{{0, 0}, {1, 0}, {2, 1}, {3, 1}},
		}).Own(), 6.094481672, 2},
		{"csl, mean over the levels", loss.CSL{Scale: 32, Reduce: loss.MeanOverLevels}, (&batch{
			Query: atAngles(15), Labels: [][]int32{{0, 0}}, Proxies: atAngles(0, 40, 100, 150),
			Paths: [][]int32{{0, 0}, {1, 0}, {2, 1}, {3, 1}},
		}).Own(), 6.094481672 / 2, 2},
	} {
		checkByHand(t, c.name, c.k, c.in, c.value, 0, nil)
	}
}
