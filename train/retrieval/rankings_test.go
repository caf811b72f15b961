package retrieval

import (
	"cmp"
	"errors"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/labels"
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
	must.Do(t, err)
	e.Observer = nil
	got, err := EvaluateRankings(t.Context(), e, rankings)
	must.Do(t, err)
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
	var short *RankingTooShortError
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

// Of the run results.trunc of trec_eval, topic 301 has a ranking and 302 none: with -c its authors' outputs have 0 for
// each measure of 302, and the mean counts it.
func TestAQueryWithoutARankingIsZeroAsForTrecEval(t *testing.T) {
	dir := goldens.Shared(t, "data", "metrics", "trec_eval")
	topics, docs := []string{"301", "302"}, map[string]int32{}
	var gallery []labels.Path
	doc := func(topic, name string, class int32) int32 {
		key := topic + " " + name
		if _, known := docs[key]; !known {
			docs[key], gallery = int32(len(gallery)), append(gallery, labels.Path{class})
		}
		return docs[key]
	}
	for line := range strings.Lines(string(must.Get(os.ReadFile(dir + "/qrels.rel_level"))(t))) {
		of := strings.Fields(line)
		if level := must.Get(strconv.Atoi(of[3]))(t); level > 0 {
			doc(of[0], of[2], int32(slices.Index(topics, of[0])))
		}
	}
	var run [][]string
	for line := range strings.Lines(string(must.Get(os.ReadFile(dir + "/results.trunc"))(t))) {
		if of := strings.Fields(line); of[0] == topics[0] {
			run = append(run, of)
		}
	}
	slices.SortFunc(run, func(a, b []string) int { // trec_eval: by score, then by the greatest name
		of := func(line []string) float64 { return must.Get(strconv.ParseFloat(line[4], 64))(t) }
		return cmp.Or(cmp.Compare(of(b), of(a)), cmp.Compare(b[2], a[2]))
	})
	list := make([]Ranking, len(topics))
	for _, of := range run {
		list[0].Rows = append(list[0].Rows, doc(of[0], of[2], 2))
	}
	e := &Evaluation{Query: Side{Labels: []labels.Path{{0}, {1}}}, Gallery: Side{Labels: gallery},
		Levels: []string{"topic"}, Metrics: setOf(t, "P@5", "P@10", "P@100", "R@1", "R@10"), PerQuery: true}
	if _, err := EvaluateRankings(t.Context(), e, list); !errors.As(err, new(*RankingTooShortError)) {
		t.Errorf("%v, want an error for the query without a ranking", err)
	}
	e.Unranked = true
	got := must.Get(EvaluateRankings(t.Context(), e, list))(t)
	theirs := string(must.Get(os.ReadFile(dir + "/out.test.aqc"))(t))
	for name, key := range map[string]string{"P_5": "P@5", "P_10": "P@10", "P_100": "P@100", "success_1": "R@1",
		"success_10": "R@10"} {
		sum := 0.0
		for q, topic := range topics {
			of := regexp.MustCompile(`(?m)^` + name + `\s+` + topic + `\s+(\S+)`).FindStringSubmatch(theirs)
			want := must.Get(strconv.ParseFloat(of[1], 64))(t)
			if v := float64(got.PerQuery.Values[key+"_level0"][q]); math.Abs(v-want) > 5e-5 { // they print four decimals
				t.Errorf("%s of %s is %v, want %v", name, topic, v, want)
			}
			sum += want
		}
		if v := got.value(key + "_level0"); math.Abs(float64(v.Mean)-sum/2) > 5e-5 || v.Skipped != 0 {
			t.Errorf("%s is %v, want %v", name, v.Mean, sum/2)
		}
	}
}
