package retrieval

import (
	"context"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/device/cpu"
	"hgld/train/metric"
)

// measured evaluates vectors of one dimension, by AP.
func measured(t *testing.T, e *Evaluation, query, gallery []float32, ql, gl []labels.Path) *Result {
	t.Helper()
	b := cpu.New(2)
	e.Query, e.Gallery = sideOf(t, b, &Matrix{1, query}, ql), sideOf(t, b, &Matrix{1, gallery}, gl)
	e.Levels, e.Metrics, e.PerQuery = []string{"a", "b"}[:len(ql[0])], metric.Set{metric.AP{}}, true
	r, err := Evaluate(context.Background(), b, e)
	must.Do(t, err)
	return r
}

// The first neighbour of a query is not always the query: an item of a higher score,
// or of the same score and a lower row, stands before it. To drop the first place
// would drop a negative here, and count the query itself as its positive.
func TestQueryIsLeftOutByItsRowAndNotByItsPlace(t *testing.T) {
	r := measured(t, &Evaluation{Self: []int32{1}}, []float32{1}, []float32{2, 1, 0.5}, []labels.Path{{0}},
		[]labels.Path{{1}, {0}, {0}})
	if ap := r.Mean("AP_level0"); ap != 0.5 {
		t.Errorf("AP %v, want 1/2: the negative first, then the positive", ap)
	}
}

func TestLastItemOfTheGalleryIsRanked(t *testing.T) {
	r := measured(t, &Evaluation{}, []float32{1}, []float32{3, 2, 1}, []labels.Path{{0}}, []labels.Path{{1}, {1}, {0}})
	if ap := r.Mean("AP_level0"); ap != 1.0/3 {
		t.Errorf("AP %v, want 1/3: the positive is the last of three", ap)
	}
}

// A query without a positive has no AP. The others of its block have theirs.
func TestQueryWithoutPositivesLeavesOtherQueriesAlone(t *testing.T) {
	const n = 300
	query, paths := make([]float32, n), make([]labels.Path, n)
	for i := range n {
		query[i], paths[i] = 1, labels.Path{0}
	}
	paths[7] = labels.Path{5}
	r := measured(t, &Evaluation{}, query, []float32{2, 1}, paths, []labels.Path{{1}, {0}})
	if v := r.value("AP_level0"); v.Mean != 0.5 || v.Skipped != 1 {
		t.Errorf("AP %v with %d queries skipped, want 1/2 and 1", v.Mean, v.Skipped)
	}
}
