package retrieval

import (
	"errors"
	"strings"
	"testing"

	"hgld/train/device/cpu"
)

// The rankings of an evaluation, given back to hgld, measure the same; cut off after 10
// places they do so for the metrics that look no further.
func TestRankingsOfAnotherProgramMeasureTheSame(t *testing.T) {
	b := cpu.New(2)
	m, list := cloud(50)
	side := sideOf(t, b, m, list)
	self := make([]int32, 50)
	for i := range self {
		self[i] = int32(i)
	}
	rankings := make([]Ranking, 50)
	e := &Evaluation{Query: side, Gallery: side, Self: self, Levels: []string{"a", "b"}, Metrics: allMetrics(t)}
	e.Observer = &Observer{Places: 50, Ranking: func(q int, rows []int32, scores []float32) error {
		rankings[q].Rows = append([]int32{int32(q)}, rows...) // other programs find the query itself
		rankings[q].Scores = []float64{1e9}
		for _, s := range scores {
			rankings[q].Scores = append(rankings[q].Scores, float64(s))
		}
		return nil
	}}
	want, err := Evaluate(t.Context(), b, e)
	if err != nil {
		t.Fatal(err)
	}
	e.Observer = nil
	got, err := EvaluateRankings(t.Context(), e, rankings)
	if err != nil {
		t.Fatal(err)
	}
	same := func(got *Result) {
		t.Helper()
		for _, v := range got.Values {
			if w := want.value(v.Key); v.Mean != w.Mean || v.Skipped != w.Skipped {
				t.Errorf("%s is %v (%d skipped), want %v (%d)", v.Key, v.Mean, v.Skipped, w.Mean, w.Skipped)
			}
		}
	}
	same(got)
	for q := range rankings {
		rankings[q] = Ranking{Rows: rankings[q].Rows[:11]}
	}
	var short *ReachError
	_, err = EvaluateRankings(t.Context(), e, rankings)
	if !errors.As(err, &short) || short.Metric != "AP" || short.Wants != 49 || short.Has != 10 {
		t.Errorf("%v", err)
	}
	e.Metrics = setOf(t, "R@1", "R@10")
	if got, err = EvaluateRankings(t.Context(), e, rankings); err != nil {
		t.Fatal(err)
	}
	same(got)
}

func TestOddRankingsAreErrors(t *testing.T) {
	m, list := cloud(3)
	side := sideOf(t, cpu.New(1), m, list)
	e := &Evaluation{Query: side, Gallery: side, Levels: []string{"a", "b"}, Metrics: setOf(t, "R@1")}
	good := Ranking{Rows: []int32{0, 1}}
	for want, odd := range map[string][]Ranking{
		"place 2 has row 3, want 0 to 2": {good, {Rows: []int32{0, 3}}, good},
		"query 1: row 0 is ranked twice": {good, {Rows: []int32{0, 0}}, good},
		"2 rankings for 3 queries":       {good, good},
	} {
		if _, err := EvaluateRankings(t.Context(), e, odd); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
