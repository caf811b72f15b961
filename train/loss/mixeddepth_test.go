package loss_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"hgld/train/loss"
)

// ofMixedDepth is the gallery of the worked example of docs/label-semantics.md, nearest first, with paths of
// class and parent. The query is of class 0 and parent 0, except where a case says otherwise.
//
//	item    B     A     C     D     E     F     G
//	score   .95   .90   .80   .70   .60   .50   .40
//	class   3     0     –     –     1     0     2
//	parent  –     0     0     1     0     –     1
var ofMixedDepth = struct {
	scores []float64
	paths  [][]int32
}{
	[]float64{.95, .90, .80, .70, .60, .50, .40},
	[][]int32{{3, -1}, {0, 0}, {-1, 0}, {-1, 1}, {1, 0}, {0, -1}, {2, 1}},
}

// The expected values are of exact ranks: no two scores are nearer than 0.05, 500 times the
// temperature.
func TestUnknownRelationsAreLeftOutOfARanking(t *testing.T) {
	const tau = 0.0001
	log2 := math.Log2
	hap := paperHAP(tau)
	for _, c := range []struct {
		name  string
		k     loss.Kind
		query []int32
		want  float64
	}{
		// Of one class: B−, A+, D−, E−, F+, G−. C has no class, and its parent is the query's. D has
		// none either, but another parent.
		{"class, full query", loss.SmoothAP{Tau: tau}, []int32{0, 0}, 1 - (1./2+2./5)/2},
		// Of one parent: A+, C+, D−, E+, F+, G−. B is of another class without a parent. F is of the
		// query's class, and so of its parent.
		{"parent, full query", loss.SmoothAP{Tau: tau, Level: 1}, []int32{0, 0}, 1 - (1+1+3./4+4./5)/4},
		// All levels: A2, D0, E1, F2, G0, relevances 1/n_2 = 1/2 and (1/2)/n_1 = 1/2.
		{"H-AP, full query", hap, []int32{0, 0}, 1 - (.5/1+(.5+.5)/3+(.5+.5+.5)/4)/1.5},
		{"NDCG, full query", loss.SmoothNDCG{Tau: tau}, []int32{0, 0},
			1 - (3+1/log2(4)+3/log2(5))/(3+3/log2(3)+1/log2(4))},
		// A query without a parent is none at that level, and asks only for its class: B−, A+, E−, F+, G−.
		// D has no class to compare, and its parent says nothing.
		{"class, query without parent", loss.SmoothAP{Tau: tau}, []int32{0, -1}, 1 - (1./2+2./4)/2},
		{"parent, query without parent", loss.SmoothAP{Tau: tau, Level: 1}, []int32{0, -1}, 0},
		{"H-AP, query without parent", hap, []int32{0, -1}, 1 - (1./2+2./4)/2},
		// A query without a class asks only for its parent: A+, C+, D−, E+, G−.
		{"class, query without class", loss.SmoothAP{Tau: tau}, []int32{-1, 0}, 0},
		{"parent, query without class", loss.SmoothAP{Tau: tau, Level: 1}, []int32{-1, 0}, 1 - (1+1+3./4)/3},
		{"H-AP, query without class", hap, []int32{-1, 0}, 1 - (1+1+3./4)/3},
		// Pairs: hinges of the margins .9 and .6, positives A and F, negatives B, D, E and G.
		{"calibration", loss.Calibration{PosMargin: .9, NegMargin: .6}, []int32{0, 0},
			(.9-.5)/2 + (.95-.6+.7-.6)/4},
		{"calibration, query without parent", loss.Calibration{PosMargin: .9, NegMargin: .6, Level: 1}, []int32{0, -1}, 0},
		{"contrastive, query without parent", loss.XBMContrastive{Margin: .5, Level: 1}, []int32{0, -1}, 0},
		// Three triplets are active: B leads A by .05, B leads F by .45, D leads F by .2, E leads F by .1.
		{"triplet", loss.Triplet{Margin: 0}, []int32{0, 0}, (.05 + .45 + .2 + .1) / 4},
	} {
		in := onScores(ofMixedDepth.scores, ofMixedDepth.paths, false)
		in.Labels = [][]int32{c.query}
		got, defined := forward(t, backend(), c.k, in), define(t, c.k, in)
		if math.Abs(got.Value-c.want) > 2e-6 || math.Abs(defined.Value-c.want) > 1e-9 {
			t.Errorf("%s: %v, by the definition %v, want %v", c.name, got.Value, defined.Value, c.want)
		}
	}
}

func paperHAP(tau float64) loss.SmoothHAP {
	return loss.SmoothHAP{Tau: tau, Relevance: loss.Relevance{Alpha: 1}}
}

// Every loss of the table follows its definition where labels lack levels, or refuses them.
func TestEveryLossFollowsItsDefinitionAtMixedDepth(t *testing.T) {
	in := randomBatch(1, 6, 4, 8, 3)
	for i, p := range in.Labels {
		switch i % 5 {
		case 1:
			p[0] = -1
		case 2:
			p[1], p[2] = -1, -1
		case 3:
			p[2] = -1
		}
	}
	for c := range int32(6) {
		in.Paths = append(in.Paths, []int32{c, c / 2, c / 4})
	}
	lacking := *in
	lacking.Paths = append([][]int32{{0, 0, -1}}, in.Paths[1:]...)
	each(t, func(t *testing.T, k loss.Kind) {
		if loss.EveryLevel(k) {
			if _, err := k.New(facts(&lacking)); err == nil || !strings.Contains(err.Error(), "want a class at every level") {
				t.Errorf("error %v", err)
			}
			return
		}
		got, want := forward(t, backend(), k, in), define(t, k, in)
		if d := math.Abs(got.Value - want.Value); !(d <= 4e-6*math.Abs(want.Value)) || want.Value == 0 {
			t.Errorf("value %v, want %v", got.Value, want.Value)
		}
		if d := farthest(got.Query, want.Query); !(d <= 4e-5) {
			t.Errorf("gradient off by %.2g", d)
		}
		if got.Proxies != nil {
			if d := farthest(got.Proxies, want.Proxies); !(d <= 1e-5) {
				t.Errorf("gradient of the proxies off by %.2g", d)
			}
		}
	})
}

// Queries without a class at any level say nothing: they add neither to the value nor to the gradient.
func TestQueriesWithoutClassesAddNothing(t *testing.T) {
	in := randomBatch(1, 6, 4, 8, 3)
	for c := range int32(6) {
		in.Paths = append(in.Paths, []int32{c, c / 2, c / 4})
	}
	for _, p := range in.Labels {
		for l := range p {
			p[l] = -1
		}
	}
	each(t, func(t *testing.T, k loss.Kind) {
		got, want := forward(t, backend(), k, in), define(t, k, in)
		if got.Value != 0 || want.Value != 0 {
			t.Errorf("value %v, by the definition %v, want 0", got.Value, want.Value)
		}
		for q, row := range got.Query {
			if slices.ContainsFunc(row, func(x float64) bool { return x != 0 }) {
				t.Fatalf("query %d has the gradient %v, want 0", q, row)
			}
		}
	})
}
