package loss_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device/cpu"
	"hgld/train/loss"
	"hgld/train/loss/definition"
)

// randomBatch is classes × per rows of dim columns and unit length around the
// centre of their class, with nested labels of the given number of levels, and
// proxies of the finest classes.
func randomBatch(seed uint64, classes, per, dim, levels int) *batch {
	r := rand.New(rand.NewPCG(seed, 7))
	b := &batch{}
	unit := func(v []float64) []float64 {
		n := math.Sqrt(dot(v, v))
		for i := range v {
			v[i] = float64(float32(v[i] / n)) // the same number in both precisions
		}
		return v
	}
	draw := func() []float64 {
		v := make([]float64, dim)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		return v
	}
	for c := range classes {
		centre := draw()
		b.Bias = append(b.Bias, float64(float32(0.1*r.NormFloat64())))
		b.Proxies = append(b.Proxies, unit(draw()))
		for range per {
			v := draw()
			for i := range v {
				v[i] += 1.2 * centre[i]
			}
			b.Query = append(b.Query, unit(v))
			path := make([]int32, levels)
			for l := range path {
				path[l] = int32(c >> l)
			}
			b.Labels = append(b.Labels, path)
		}
	}
	return b.Own()
}

// each runs a test on every loss in both presets.
func each(t *testing.T, test func(t *testing.T, k loss.Kind)) {
	for _, preset := range loss.Presets {
		for _, e := range preset.Value {
			t.Run(preset.Name+"/"+e.Name, func(t *testing.T) { test(t, e.Value) })
		}
	}
}

// CSL sums the levels as in the released code. As a mean, value and gradients are divided by the
// number of levels. Both match the definition.
func TestCSLReducesOverLevels(t *testing.T) {
	in := randomBatch(2, 6, 4, 8, 3)
	sum := define(t, loss.CSL{Scale: 32}, in)
	for reduce, levels := range map[loss.Reduce]float64{loss.OverLevels: 1, loss.MeanOverLevels: 3} {
		k := loss.CSL{Scale: 32, Reduce: reduce}
		got, want := forward(t, backend(), k, in), define(t, k, in)
		if math.Abs(levels*want.Value-sum.Value) > 1e-12*sum.Value || math.Abs(got.Value-want.Value) > 4e-6*want.Value {
			t.Errorf("%v: value %v, by definition %v, want %v", reduce, got.Value, want.Value, sum.Value/levels)
		}
		if q, p := farthest(got.Query, want.Query), farthest(got.Proxies, want.Proxies); q > 4e-5 || p > 4e-5 {
			t.Errorf("%v: gradients off by %.2g and %.2g", reduce, q, p)
		}
	}
}

// The gradient of the definition is that of its value, by central differences.
// Exact steps have no gradient, so a batch on which no two scores lie within the
// step of the differences is needed; random ones do not.
func TestDefinitionsHaveTheGradientOfTheirValue(t *testing.T) {
	each(t, func(t *testing.T, k loss.Kind) {
		in := randomBatch(2, 4, 3, 5, 2)
		want := define(t, k, in)
		switch k := k.(type) {
		case loss.SupHAP:
			if k.WithHRank {
				t.Fatal("hrank jumps") // no default has it
			}
		case loss.BlackBoxAP, loss.RamboRecall, loss.RamboDetection:
			return // the gradient is not the derivative, which is 0
		case loss.SoftBinAP:
			if k.SelfInGallery {
				return // each row's score with itself is on the kink of the first bin
			}
		}
		// A row's score with itself is a tie of the query with itself only: no kink.
		// What is left is step² of the third derivative, 1e-12/τ³.
		if d := farthest(differences(t, k, in, in.Query), want.Query); !(d <= 1e-5) {
			t.Errorf("gradient off by %.2g", d)
		}
	})
}

// differences are the central ones of a definition's value by the numbers x of in.
func differences(t *testing.T, k loss.Kind, in *batch, x [][]float64) [][]float64 {
	t.Helper()
	const step = 1e-6
	numeric := definition.ZerosLike(x)
	for i, row := range x {
		for j, v := range row {
			row[j] = v + step
			up := define(t, k, in).Value
			row[j] = v - step
			numeric[i][j] = (up - define(t, k, in).Value) / (2 * step)
			row[j] = v
		}
	}
	return numeric
}

func TestLossesDoNotDependOnTheOrderOfRows(t *testing.T) {
	in := randomBatch(3, 6, 4, 8, 3)
	order := rand.New(rand.NewPCG(9, 9)).Perm(len(in.Query))
	mixed := &batch{Proxies: in.Proxies, Bias: in.Bias}
	for _, i := range order {
		mixed.Query, mixed.Labels = append(mixed.Query, in.Query[i]), append(mixed.Labels, in.Labels[i])
	}
	mixed.Own()
	each(t, func(t *testing.T, k loss.Kind) {
		a, b := forward(t, backend(), k, in), forward(t, backend(), k, mixed)
		if d := math.Abs(a.Value - b.Value); d > 1e-6*a.Value {
			t.Errorf("value %v, and %v in another order", a.Value, b.Value)
		}
		back := definition.ZerosLike(a.Query)
		for at, i := range order {
			back[i] = b.Query[at]
		}
		if d := farthest(back, a.Query); d > 4e-5 {
			t.Errorf("gradient off by %.2g in another order", d)
		}
	})
}

// A rotation of all embeddings and proxies turns the gradient with them.
func TestLossesTurnWithTheEmbeddings(t *testing.T) {
	in := randomBatch(4, 6, 4, 8, 3)
	rotate := func(x [][]float64) [][]float64 {
		out := definition.ZerosLike(x)
		sin, cos := math.Sincos(0.7)
		for i := range x {
			for j := 0; j < len(x[i]); j += 2 {
				out[i][j], out[i][j+1] = cos*x[i][j]-sin*x[i][j+1], sin*x[i][j]+cos*x[i][j+1]
			}
		}
		return out
	}
	turned := (&batch{Query: rotate(in.Query), Labels: in.Labels, Proxies: rotate(in.Proxies), Bias: in.Bias}).Own()
	each(t, func(t *testing.T, k loss.Kind) {
		a, b := define(t, k, in), define(t, k, turned)
		if d := math.Abs(a.Value - b.Value); d > 1e-12 {
			t.Errorf("value %v, turned %v", a.Value, b.Value)
		}
		if d := farthest(b.Query, rotate(a.Query)); d > 1e-9 {
			t.Errorf("gradient off by %.2g", d)
		}
	})
}

// One level: the hierarchical losses are the binary ones.
func TestHierarchicalAPOfOneLevelIsAP(t *testing.T) {
	in := randomBatch(5, 6, 4, 8, 1)
	for _, names := range [][2]string{{"smooth-h-ap", "smooth-ap"}, {"sup-h-ap", "sup-ap"}} {
		var r [2]result
		for i, name := range names {
			k, err := loss.All.Get("loss", name)
			must.Do(t, err)
			r[i] = forward(t, backend(), k, in)
		}
		if math.Abs(r[0].Value-r[1].Value) > 1e-7 || farthest(r[0].Query, r[1].Query) > 1e-6 {
			t.Errorf("%s is %v, %s %v", names[0], r[0].Value, names[1], r[1].Value)
		}
	}
}

func TestHierarchicalAPDoesNotDependOnTheScaleOfRelevance(t *testing.T) {
	in := randomBatch(6, 6, 4, 8, 3)
	a := forward(t, backend(), loss.SmoothHAP{Tau: 0.01, Relevance: loss.Relevance{Alpha: 2}}, in)
	b := forward(t, backend(), loss.SmoothHAP{Tau: 0.01, Relevance: loss.Relevance{Alpha: 2, Divisor: 0.125}}, in)
	if a.Value == 0 || math.Abs(a.Value-b.Value) > 1e-6 || farthest(a.Query, b.Query) > 1e-5 {
		t.Errorf("%v, and %v with another divisor", a.Value, b.Value)
	}
}

// Classes that lie apart, at right angles, are ranked rightly from every member.
// Recall is left out: its least value is not 0; so is NSM.
func TestPerfectRankingsHaveNoLoss(t *testing.T) {
	in := apart()
	each(t, func(t *testing.T, k loss.Kind) {
		switch k.(type) {
		case loss.SmoothAP, loss.SupAP, loss.SmoothHAP, loss.SupHAP, loss.SupNDCG:
			// Smooth-AP is 0 although the order among positives is smooth, because rank
			// and rank⁺ count them alike. Smooth-NDCG is not.
			if r := forward(t, backend(), k, in); math.Abs(r.Value) > 1e-6 {
				t.Errorf("loss %v", r.Value)
			}
		}
	})
}

// apart is three classes of three rows with right angles between classes and
// small ones within.
func apart() *batch {
	in := &batch{}
	for c := range int32(3) {
		for i := range 3 {
			v := make([]float64, 6)
			v[2*c+1], v[2*c] = math.Sincos(0.1 * float64(i))
			in.Query, in.Labels = append(in.Query, v), append(in.Labels, []int32{c, c})
		}
	}
	return in.Own()
}

// A positive's only lower items are more than 50τ behind: there H⁻ is flat.
func TestSupGradientIsZeroWhereRanksAreSafe(t *testing.T) {
	in := apart()
	for _, name := range []string{"sup-ap", "sup-h-ap", "sup-ndcg", "sup-recall"} {
		k, err := loss.All.Get("loss", name)
		must.Do(t, err)
		for _, row := range forward(t, backend(), k, in).Query {
			for _, v := range row {
				if math.Abs(v) > 1e-18 { // e^−50/τ
					t.Fatalf("%s: gradient %v", name, v)
				}
			}
		}
	}
}

// The loss of a batch is the same for any number of threads.
func TestLossesDoNotDependOnThreads(t *testing.T) {
	in := randomBatch(8, 16, 4, 8, 3)
	each(t, func(t *testing.T, k loss.Kind) {
		one, four := forward(t, cpu.New(1), k, in), forward(t, cpu.New(4), k, in)
		if !reflect.DeepEqual(one, four) {
			t.Error("one thread and four give different bytes")
		}
	})
}

// Of rows of unit length, 9·(2 − 2cos) is a constant less cos / (1/18).
func TestNCAPPIsNSMOfAnotherTemperature(t *testing.T) {
	in := randomBatch(19, 6, 4, 8, 2)
	a := forward(t, backend(), loss.NCAPP{Scale: 3}, in)
	b := forward(t, backend(), loss.NSM{Temperature: 1.0 / 18}, in)
	if math.Abs(a.Value-b.Value) > 1e-5*b.Value || farthest(a.Proxies, b.Proxies) > 1e-5 {
		t.Errorf("%v, and NSM %v", a.Value, b.Value)
	}
}
