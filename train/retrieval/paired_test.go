package retrieval

import (
	"errors"
	"math"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/device/cpu"
	"hgld/train/metric"
)

// resultOf is a result of AP alone, with values of the queries that ids name.
func resultOf(ids []string, values ...float64) *Result {
	r := &Result{Version: 1, Queries: len(values), Levels: []string{"a"}, Values: []Value{{Key: "AP_level0"}}}
	r.PerQuery = &PerQuery{IDs: ids, Values: map[string][]Number{}}
	for q, v := range values {
		r.PerQuery.Values["AP_level0"] = append(r.PerQuery.Values["AP_level0"], Number(v))
		r.PerQuery.Class = append(r.PerQuery.Class, q/2)
	}
	return r
}

func TestPairGoesByID(t *testing.T) {
	first := resultOf([]string{"a", "b", "c", "d"}, 0.1, 0.2, 0.3, math.NaN())
	second := resultOf([]string{"d", "c", "x", "a", "b"}, 0.9, 0.5, 0.7, 0.2, 0.4)
	second.PerQuery.Class = []int{5, 5, 6, 7, 7} // other numbers of the same classes
	p, err := Pair(first, second, NewIntervals(ByQuery, 1), 0)
	must.Do(t, err)
	d := p.Differences[0]
	if p.Both != 4 || p.OnlyFirst != 0 || p.OnlySecond != 1 || d.Queries != 3 {
		t.Errorf("%+v", p)
	}
	// Of a, b and c: 0.1 to 0.2, 0.2 to 0.4, 0.3 to 0.5. All 8 signs: 2 are as far.
	const rounding = 1e-15
	if math.Abs(float64(d.First)-0.2) > rounding || math.Abs(float64(d.Mean)-0.5/3) > rounding || d.P != 0.25 {
		t.Errorf("%+v", d)
	}
	if d.Interval[0] < 0.1-rounding || d.Interval[1] > 0.2+rounding || d.Interval[0] >= d.Interval[1] {
		t.Errorf("the interval of 0.1, 0.2, 0.2 is %v", d.Interval)
	}
}

func TestPairByClassFlipsClassesWhole(t *testing.T) {
	p, err := Pair(resultOf(nil, 0, 0, 0, 0), resultOf(nil, 0.1, 0.2, 0.1, 0.3), NewIntervals(ByClass, 1), 0)
	if err != nil || p.Differences[0].P != 0.5 || !p.ByRow {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestPairRefuses(t *testing.T) {
	one := resultOf([]string{"a", "b"}, 0, 1)
	others := resultOf([]string{"a", "b"}, 0, 1)
	others.PerQuery.Class = []int{0, 1}
	for want, other := range map[string]*Result{
		`queries "a" and "b" share one only in the first result`: others,
		`two queries with the id "a"`:                            resultOf([]string{"a", "a"}, 0, 1),
		"no query in common":                                     resultOf([]string{"x", "y"}, 0, 1),
		"only one of the two results has":                        resultOf(nil, 0, 1),
		"no per-query values":                                    {Version: 1},
	} {
		if _, err := Pair(one, other, NewIntervals(ByQuery, 1), 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	_, err := Pair(one, &Result{}, NewIntervals(ByQuery, 1), 0)
	if !errors.As(err, new(NoPerQueryError)) {
		t.Errorf("%v is no NoPerQueryError", err)
	}
	if _, err := Pair(resultOf(nil, 1), resultOf(nil, 1, 2), NewIntervals(ByQuery, 1), 0); err == nil ||
		!strings.Contains(err.Error(), "1 and 2 queries") {
		t.Errorf("%v", err)
	}
}

func TestCorrectTakesAllPairsForOneFamily(t *testing.T) {
	list := []*Pairing{{Differences: []Difference{{P: 0.01}, {P: 0.04}}}, {Differences: []Difference{{P: 0.03}}}}
	CorrectHolm(list)
	if a, b, c := list[0].Differences[0].Holm, list[0].Differences[1].Holm, list[1].Differences[0].Holm; a != 0.03 ||
		b != 0.06 || c != 0.06 {
		t.Errorf("corrected to %v, %v, %v", a, b, c)
	}
}

// The interval of a mean of levels is that of the mean, not the mean of intervals.
func TestEveryFigureHasItsInterval(t *testing.T) {
	b := cpu.New(2)
	m, list := cloud(40)
	side := sideOf(t, b, m, list)
	self := make([]int32, 40)
	for i := range self {
		self[i] = int32(i)
	}
	e := &Evaluation{Query: side, Gallery: side, Self: self, Levels: []string{"a", "b"}, Metrics: allMetrics(t),
		Intervals: NewIntervals(ByQuery, 3), PerQuery: true}
	var first *Result
	for _, threads := range []int{1, 3} {
		e.Threads = threads
		r, err := Evaluate(t.Context(), b, e)
		must.Do(t, err)
		for _, v := range r.Values {
			if v.Interval == nil || !(v.Interval[0] <= v.Mean && v.Mean <= v.Interval[1]) {
				t.Errorf("%s: %v in %v", v.Key, v.Mean, v.Interval)
			}
		}
		for name, mean := range r.Overall {
			if i := r.OverallIntervals[name]; !(i[0] <= mean && mean <= i[1]) {
				t.Errorf("mean %s: %v in %v", name, mean, i)
			}
		}
		if first == nil {
			first = r
		}
		for i, v := range r.Values {
			if *v.Interval != *first.Values[i].Interval {
				t.Errorf("%s: %v with 3 threads, %v with 1", v.Key, *v.Interval, *first.Values[i].Interval)
			}
		}
	}
	var table strings.Builder
	if err := first.Table(&table); err != nil || strings.Count(table.String(), "±") < 8 {
		t.Errorf("%v\n%s", err, table.String())
	}
}

// A class counts once: of five queries of class 1 and one of class 2, the mean is that
// of two numbers.
func TestMeanOverClassesCountsAClassOnce(t *testing.T) {
	b := cpu.New(2)
	m, list := cloud(30)
	side := sideOf(t, b, m, list)
	e := &Evaluation{Query: side, Gallery: side, Levels: []string{"a", "b"}, Metrics: allMetrics(t), Mean: ByClass,
		PerQuery: true}
	r, err := Evaluate(t.Context(), b, e)
	must.Do(t, err)
	for _, v := range r.Values {
		byClass := map[int][]float64{}
		for q, x := range r.PerQuery.Values[v.Key] {
			if !math.IsNaN(float64(x)) {
				c := int(list[q][0])
				byClass[c] = append(byClass[c], float64(x))
			}
		}
		want, classes := 0.0, 0
		for _, values := range byClass {
			sum := 0.0
			for _, x := range values {
				sum += x
			}
			want, classes = want+sum/float64(len(values)), classes+1
		}
		if want /= float64(classes); math.Abs(float64(v.Mean)-want) > 1e-12 { // sums of other orders
			t.Errorf("%s: %v, want %v", v.Key, v.Mean, want)
		}
	}
	if r.MeanOver != ByClass {
		t.Errorf("mean_over is %q", r.MeanOver)
	}
}

// All scores are equal: the single positive of each query, among 3 items, is at any place.
func TestTiesLeaveAFigureBetweenTwoValues(t *testing.T) {
	b := cpu.New(2)
	m := &Matrix{2, []float32{1, 0, 1, 0, 1, 0, 1, 0}}
	side := sideOf(t, b, m, []labels.Path{{0}, {0}, {1}, {1}})
	set, err := metric.ParseSet([]string{"R@1", "MRR", "AP"})
	must.Do(t, err)
	r, err := Evaluate(t.Context(), b, &Evaluation{Query: side, Gallery: side, Self: []int32{0, 1, 2, 3},
		Levels: []string{"a"}, Metrics: set})
	must.Do(t, err)
	for key, want := range map[string]Ends{"R@1_level0": {0, 1}, "MRR_level0": {1.0 / 3, 1}, "AP_level0": {1.0 / 3, 1}} {
		if v := r.value(key); v.Ties == nil || *v.Ties != want {
			t.Errorf("%s is left between %v, want %v", key, v.Ties, want)
		}
	}
	var table strings.Builder
	if err := r.Table(&table); err != nil || !strings.Contains(table.String(),
		"ties matter in 4 queries: R@1_level0 is from 0.00 to 100.00") {
		t.Errorf("%v\n%s", err, table.String())
	}
}
