package retrieval

import (
	"context"
	"math"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/metric"
)

// The worked example of docs/label-semantics.md: items by falling score, with class and parent.
var (
	exampleScores = []float32{.95, .90, .80, .70, .60, .50, .40, .30}
	examplePaths  = []labels.Path{{3, -1}, {0, 0}, {-1, 0}, {-1, 1}, {1, 0}, {0, -1}, {2, 1}, {3, -1}}
)

// evaluateExample ranks the example for the given queries, on a host that counts or a device that sorts.
func evaluateExample(t *testing.T, b device.Backend, queries []labels.Path) *Result {
	t.Helper()
	set, err := metric.ParseSet([]string{"R@1", "AP", "ASI", "H-AP", "NDCG"})
	must.Do(t, err)
	ones := make([]float32, len(queries))
	for i := range ones {
		ones[i] = 1
	}
	e := &Evaluation{Query: sideOf(t, b, &Matrix{1, ones}, queries),
		Gallery: sideOf(t, b, &Matrix{1, exampleScores}, examplePaths), Levels: []string{"class", "parent"}, Metrics: set,
		PerQuery: true, Threads: 2}
	r, err := Evaluate(context.Background(), b, e)
	must.Do(t, err)
	return r
}

func TestItemsOfUnknownRelationAreLeftOutOfTheRanking(t *testing.T) {
	log2, none := math.Log2, math.NaN()
	queries := []labels.Path{{0, 0}, {3, -1}, {-1, 0}, {-1, -1}}
	want := map[string][]float64{
		// At the class: B−, A+, D−, E−, F+, G−, H−. Class 3 has no parent, and knows nothing of C and D: B+,
		// A−, E−, F−, G−, H+.
		"AP_level0":  {(1./2 + 2./5) / 2, (1 + 2./6) / 2, none, none},
		"R@1_level0": {0, 1, none, none},
		// At the parent: A+, C+, D−, E+, F+, G−. F has the parent of A, which is of its class.
		"AP_level1":  {(1 + 1 + 3./4 + 4./5) / 4, none, (1 + 1 + 3./4 + 4./5) / 4, none},
		"R@1_level1": {1, none, 1, none},
		// All levels: A2, D0, E1, F2, G0, relevances 1/2 and (1/2)/1. A query without a parent has the
		// ranking of its class, B2, A0, E0, F0, G0, H2, one without a class that of its parent, A1, C1, D0,
		// E1, F1, G0.
		"H-AP": {(.5/1 + (.5+.5)/3 + (.5+.5+.5)/4) / 1.5, (1 + 2./6) / 2, (1 + 1 + 3./4 + 4./5) / 4, none},
		"NDCG": {(3 + 1/log2(4) + 3/log2(5)) / (3 + 3/log2(3) + 1/log2(4)), (3 + 3/log2(7)) / (3 + 3/log2(3)),
			(1 + 1/log2(3) + 1/log2(5) + 1/log2(6)) / (1 + 1/log2(3) + 1/log2(4) + 1/log2(5)), none},
		// The ideal orders are 2, 2, 1; 2, 2; and 1, 1, 1, 1.
		"ASI": {(1 + 1./2 + 2./3) / 3, (1 + 1./2) / 2, (1 + 1 + 2./3 + 3./4) / 4, none},
	}
	for name, b := range map[string]device.Backend{"counted": cpu.New(2), "sorted": sortingDevice{cpu.New(2)}} {
		r := evaluateExample(t, b, queries)
		for key, values := range want {
			for q, v := range values {
				got := float64(r.PerQuery.Values[key][q])
				if math.IsNaN(v) != math.IsNaN(got) || math.Abs(got-v) > 1e-12 {
					t.Errorf("%s: %s of query %v is %v, want %v", name, key, queries[q], got, v)
				}
			}
		}
	}
}

// An item without any class is a distractor, for queries of any depth.
func TestDistractorsStayNegativesAtMixedDepth(t *testing.T) {
	r := measured(t, &Evaluation{}, []float32{1, 1}, []float32{3, 2, 1}, []labels.Path{{0, 0}, {-1, 0}},
		[]labels.Path{{-1, -1}, {1, -1}, {0, 0}})
	for key, want := range map[string][]float64{"AP_level0": {1. / 3, math.NaN()}, "AP_level1": {1. / 2, 1. / 2}} {
		for q, v := range want {
			if got := float64(r.PerQuery.Values[key][q]); got != v && !(math.IsNaN(got) && math.IsNaN(v)) {
				t.Errorf("%s of query %d is %v, want %v", key, q, got, v)
			}
		}
	}
}

// Rankings of another program, and ties, follow the same rule. The two first items have equal scores.
func TestGivenRankingsOfMixedDepth(t *testing.T) {
	set, err := metric.ParseSet([]string{"AP", "H-AP"})
	must.Do(t, err)
	e := &Evaluation{Query: Side{Labels: []labels.Path{{0, 0}}}, Gallery: Side{Labels: examplePaths},
		Levels: []string{"class", "parent"}, Metrics: set, PerQuery: true}
	r, err := EvaluateRankings(context.Background(), e,
		[]Ranking{{Rows: []int32{0, 1, 2, 3, 4, 5, 6, 7}, Scores: []float64{2, 2, .8, .7, .6, .5, .4, .3}}})
	must.Do(t, err)
	if v := r.Mean("AP_level0"); math.Abs(v-.45) > 1e-12 {
		t.Errorf("AP %v", v)
	}
	// With A before B, AP at the class is (1 + 2/5)/2. At the parent B has no place: no tie is left.
	if v := r.value("AP_level0"); v.Ties == nil || math.Abs(float64(v.Ties[1])-.7) > 1e-12 {
		t.Errorf("ties of the class %v", v.Ties)
	}
	if v := r.value("AP_level1"); v.Ties != nil || math.Abs(float64(v.Mean)-.8875) > 1e-12 {
		t.Errorf("AP of the parent %v, ties %v", v.Mean, v.Ties)
	}
}

// Columns that say nothing of one another imply nothing.
func TestIndependentLevelsOfMixedDepth(t *testing.T) {
	b := cpu.New(2)
	e := &Evaluation{Query: sideOf(t, b, &Matrix{1, []float32{1}}, []labels.Path{{0, 0}}),
		Gallery: sideOf(t, b, &Matrix{1, exampleScores}, examplePaths), Levels: []string{"colour", "shape"},
		Metrics: metric.Set{metric.AP{}}}
	r, err := EvaluateIndependent(context.Background(), b, e)
	must.Do(t, err)
	// Colour: B−, A+, E−, F+, G−, H−. Shape: A+, C+, D−, E+, G−.
	if v := r.Mean("AP_level0"); math.Abs(v-(1./2+2./4)/2) > 1e-12 {
		t.Errorf("colour %v", v)
	}
	if v := r.Mean("AP_level1"); math.Abs(v-(1+1+3./4)/3) > 1e-12 {
		t.Errorf("shape %v", v)
	}
}

// A gap ranks what the evaluation ranks.
func TestGapOfMixedDepth(t *testing.T) {
	b := cpu.New(1)
	for name, b := range map[string]device.Backend{"counted": b, "sorted": sortingDevice{b}} {
		e := &Evaluation{Query: sideOf(t, b, &Matrix{1, []float32{1}}, []labels.Path{{0, -1}}),
			Gallery: sideOf(t, b, &Matrix{1, []float32{3, 2, 1}}, []labels.Path{{-1, 0}, {1, -1}, {0, 0}}),
			Levels:  []string{"class", "parent"}, Metrics: metric.Set{metric.AP{}}, Gap: 3}
		r, err := Evaluate(context.Background(), b, e)
		must.Do(t, err)
		// The first item is left out. One batch is the gallery.
		if v := r.value("AP_level0"); v.Gap == nil || *v.Gap != 0 || v.Mean != 0.5 {
			t.Errorf("%s: AP %v, gap %v", name, v.Mean, v.Gap)
		}
	}
}
