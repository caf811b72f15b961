package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"hgld/train/retrieval"
)

func TestSampleOfOneHasNoDeviation(t *testing.T) {
	nan := retrieval.Number(math.NaN())
	if s := SampleOf([]retrieval.Number{3, nan}); s.Mean != 3 || s.Count != 1 || !math.IsNaN(float64(s.Deviation)) {
		t.Errorf("%+v", s)
	}
	if s := SampleOf([]retrieval.Number{nan}); !math.IsNaN(float64(s.Mean)) || s.Count != 0 {
		t.Errorf("%+v", s)
	}
	if s := SampleOf([]retrieval.Number{1, 3}); s.Mean != 2 || math.Abs(float64(s.Deviation)-math.Sqrt2) > 1e-15 {
		t.Errorf("%+v, want the deviation √2", s)
	}
	// Student's quantile for one degree of freedom is 12.706, by any table.
	if s := SampleOf([]retrieval.Number{41, nan, 43}); math.Abs(float64(s.Low)-(42-12.706)) > 5e-4 ||
		math.Abs(float64(s.High)-(42+12.706)) > 5e-4 {
		t.Errorf("%+v, want the interval 42 ± 12.706", s)
	}
}

// Student's interval of a few seeds is wide. A metric is never below 0 or above 100 %.
func TestIntervalOverSeedsEndsAtTheRangeOfTheMetric(t *testing.T) {
	if s := SampleOf([]retrieval.Number{98, 100}); s.Mean != 99 || s.High != 100 || !(s.Low > 80 && s.Low < 98) {
		t.Errorf("%+v, want an interval that ends at 100", s)
	}
	if s := SampleOf([]retrieval.Number{1, 3}); s.Low != 0 || !(s.High > 3 && s.High < 20) {
		t.Errorf("%+v, want an interval that begins at 0", s)
	}
	seed := func(n string) [2]string { return [2]string{n, ""} }
	by := map[[2]string]retrieval.Number{seed("1"): 90, seed("2"): 100}
	from := map[[2]string]retrieval.Number{seed("1"): 0, seed("2"): 1}
	if d := Subtract(by, from); d.High != 100 || d.Low < 0 || d.Verdict != "higher" {
		t.Errorf("%+v, want a difference of at most 100", d)
	}
}

func TestColumnsOfEqualNamesAreToldApartByFolders(t *testing.T) {
	for _, c := range [][2][]string{
		{{"a.json", "b.json"}, {"a", "b"}},
		{{"runs/a/eval.json", "runs/b/eval.json"}, {"a/eval", "b/eval"}},
		{{"x/a/eval.json", "y/a/eval.json", "eval.json"}, {"x/a/eval", "y/a/eval", "eval"}},
		{{"e.json", "e.json"}, {"e", "e"}},
	} {
		if got := ShortNames(c[0]); !slices.Equal(got, c[1]) {
			t.Errorf("%v: %v, want %v", c[0], got, c[1])
		}
	}
}

func TestMeanNeedsTheSameMetrics(t *testing.T) {
	result := func(key string, mean retrieval.Number) *retrieval.Result {
		return &retrieval.Result{Levels: []string{"fine"}, Values: []retrieval.Value{{Key: key, Mean: mean}}}
	}
	table, err := Mean([]string{"a/x.json", "y.json"},
		[]*retrieval.Result{result("AP_level0", 0.5), result("AP_level0", 0.25)})
	if err != nil || len(table.Rows) != 2 || table.Rows[0].File != "x.json" || table.Overall["AP"] != 0.375 {
		t.Errorf("%+v, %v", table, err)
	}
	_, err = Mean([]string{"x.json", "y.json"}, []*retrieval.Result{result("AP_level0", 0.5), result("R@1_level0", 0.5)})
	if err == nil || !strings.Contains(err.Error(), "y.json does not have the metrics of x.json") {
		t.Error(err)
	}
}
