package stats

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/sample"
)

// golden is testdata/scipy.json, which scripts/stats_golden.py writes.
type golden struct {
	Bootstrap []struct {
		Name          string
		Sums, Counts  []float64
		Resamples     int
		Seed          uint64
		Percentile    [2]float64 `json:"percentile"`
		BCa           [2]float64
		OwnPercentile [2]float64 `json:"scipy_own_percentile"`
		OwnBCa        [2]float64 `json:"scipy_own_BCa"`
		StandardError float64    `json:"standard_error"`
	}
	Signs []struct {
		Name  string
		A, B  []float64
		Exact bool
		P     float64
	}
	Student []struct {
		Name      string
		A, B      []float64
		P         float64
		Intervals map[string][2]float64
	}
}

func readGolden(t *testing.T) (g golden) {
	t.Helper()
	data, err := os.ReadFile("testdata/scipy.json")
	if err == nil {
		err = json.Unmarshal(data, &g)
	}
	if err != nil || len(g.Bootstrap) == 0 || len(g.Signs) == 0 || len(g.Student) == 0 {
		t.Fatalf("%v, or a list of cases is empty", err)
	}
	return g
}

func differences(a, b []float64) []float64 {
	d := slices.Clone(a)
	for i := range d {
		d[i] -= b[i]
	}
	return d
}

func TestGoldenBootstrapIsSciPys(t *testing.T) {
	for _, c := range readGolden(t).Bootstrap {
		table := &Table{units: len(c.Sums), figures: 1, sums: c.Sums, counts: c.Counts, masks: 1, mask: []int{0}}
		for _, m := range []struct {
			method    Method
			want, own [2]float64
		}{{Percentile, c.Percentile, c.OwnPercentile}, {BCa, c.BCa, c.OwnBCa}} {
			b := Bootstrap{Confidence: 0.95, Resamples: c.Resamples, Seed: c.Seed, Method: m.method}
			// The same resamples: rounding alone differs.
			near(t, c.Name, b.Intervals(table)[0], m.want, 1e-12)
			// Other resamples: quantiles of 20,000 and of 100,000 draws differ by about
			// 0.02 standard errors.
			b.Resamples = 20000
			near(t, c.Name+", SciPy's own", b.Intervals(table)[0], m.own, 0.1*c.StandardError)
		}
	}
}

func near(t *testing.T, name string, got Interval, want [2]float64, tolerance float64) {
	t.Helper()
	if !(math.Abs(got.Low-want[0]) <= tolerance && math.Abs(got.High-want[1]) <= tolerance) {
		t.Errorf("%s: %v, want %v", name, got, want)
	}
}

func TestGoldenSignFlipIsSciPys(t *testing.T) {
	for _, c := range readGolden(t).Signs {
		got := SignFlip(ByQuery([][]float64{differences(c.A, c.B)}), 200000, 1, 0)[0]
		tolerance := 1e-12
		if !c.Exact { // 5 standard errors of two shares of 200,000
			tolerance = 5 * math.Sqrt(2*c.P*(1-c.P)/200000)
		}
		if math.Abs(got-c.P) > tolerance {
			t.Errorf("%s: P %v, want %v", c.Name, got, c.P)
		}
	}
}

func TestGoldenPairedIsSciPys(t *testing.T) {
	for _, c := range readGolden(t).Student {
		for text, want := range c.Intervals {
			confidence, err := strconv.ParseFloat(text, 64)
			must.Do(t, err)
			got := Paired(differences(c.A, c.B), confidence)
			near(t, c.Name+", "+text, got.Interval, want, 1e-9)
			if math.Abs(got.P-c.P) > 1e-9 {
				t.Errorf("%s: P %v, want %v", c.Name, got.P, c.P)
			}
		}
	}
}

// Values by hand: .005 times 4, .01 times 3, .03 times 2, and .04 no lower than .03 has.
func TestHolmIsTheDefinition(t *testing.T) {
	for _, c := range [][2][]float64{
		{{0.01, 0.04, 0.03, 0.005}, {0.03, 0.06, 0.06, 0.02}},
		{{0.5, 0.6}, {1, 1}},
		{{0.02}, {0.02}},
		{nil, {}},
	} {
		got := Holm(c[0])
		for i, want := range c[1] {
			if math.Abs(got[i]-want) > 1e-15 {
				t.Errorf("Holm(%v) = %v, want %v", c[0], got, c[1])
			}
		}
	}
}

// Ten of ten seeds in favour of one model: 2 of the 1,024 choices are as far from 0.
func TestSignFlipCountsAllSigns(t *testing.T) {
	ten := slices.Repeat([]float64{0.1}, 10)
	if got := SignFlip(ByQuery([][]float64{ten}), 10, 1, 0)[0]; got != 2.0/1024 {
		t.Errorf("P is %v, want 2/1024", got)
	}
	none := slices.Repeat([]float64{0}, 10)
	if got := SignFlip(ByQuery([][]float64{none}), 10, 1, 0)[0]; got != 1 {
		t.Errorf("P without a difference is %v, want 1", got)
	}
}

// Both classes as wholes: 4 choices, of which all in favour and all against are as far.
func TestSignFlipOfClassesFlipsThemWhole(t *testing.T) {
	d := []float64{0.1, 0.2, 0.1, 0.3}
	if got := SignFlip(ByClass([][]float64{d}, []int{7, 7, 9, 9}), 10, 1, 0)[0]; got != 0.5 {
		t.Errorf("P is %v, want 2/4", got)
	}
}

func randomTable(queries int) *Table {
	columns := make([][]float64, 5)
	class := make([]int, queries)
	r := sample.NewRandom(3)
	for q := range queries {
		class[q] = r.IntN(queries / 4)
		for k := range columns {
			v := r.Float64()
			if k == 2 && r.IntN(3) == 0 {
				v = math.NaN()
			}
			columns[k] = append(columns[k], v)
		}
	}
	return ByClass(columns, class)
}

func TestThreadsChangeNothing(t *testing.T) {
	table := randomTable(400)
	b := Bootstrap{Confidence: 0.95, Resamples: 500, Seed: 9, Method: Expanded, Threads: 1, Means: [][]int{{0, 1, 2}}}
	one, flips := b.Intervals(table), SignFlip(table, 500, 9, 1)
	for _, threads := range []int{2, 3, 16} {
		b.Threads = threads
		if got := b.Intervals(table); !slices.Equal(got, one) {
			t.Errorf("%d threads: %v, one: %v", threads, got, one)
		}
		if got := SignFlip(table, 500, 9, threads); !slices.Equal(got, flips) {
			t.Errorf("%d threads: P %v, one: %v", threads, got, flips)
		}
	}
	b.Seed++
	if slices.Equal(b.Intervals(table), one) {
		t.Error("another seed gives the same intervals")
	}
}

func TestUndefinedValuesAreLeftOut(t *testing.T) {
	nan := math.NaN()
	table := ByClass([][]float64{{1, nan, 0, nan}, {nan, nan, nan, nan}, {1, 1, 0, 0.5}}, []int{1, 1, 2, 3})
	if got := table.Estimates(); got[0] != 0.5 || !math.IsNaN(got[1]) || got[2] != 0.625 {
		t.Errorf("estimates %v", got)
	}
	got := Bootstrap{Confidence: 0.95, Resamples: 200, Method: Expanded}.Intervals(table)
	if math.IsNaN(got[0].Low) || !math.IsNaN(got[1].Low) || math.IsNaN(got[2].High) {
		t.Errorf("intervals %v", got)
	}
}

func TestMeansOfClassesCountAClassOnce(t *testing.T) {
	table := MeansOfClasses([][]float64{{1, 1, 1, 0, math.NaN()}}, []int{1, 1, 1, 2, 3})
	if got := table.Estimates()[0]; got != 0.5 {
		t.Errorf("the mean over classes is %v, want 1/2", got)
	}
}

// A figure that is the same for all queries has an interval of no width, and one query
// says nothing of how sure it is.
func TestIntervalsOfFewUnits(t *testing.T) {
	b := Bootstrap{Confidence: 0.95, Resamples: 200, Method: Expanded}
	if got := b.Intervals(ByQuery([][]float64{{1, 1, 1}}))[0]; got != (Interval{1, 1}) {
		t.Errorf("of equal values: %v", got)
	}
	if got := b.Intervals(ByQuery([][]float64{{1}}))[0]; !math.IsNaN(got.Low) {
		t.Errorf("of one value: %v", got)
	}
	if got := b.Intervals(ByQuery(nil)); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
	for n, want := range map[int]float64{2: .5, 3: .25, 6: 1. / 32} { // of the exact sign test, 2·2^−n
		same := slices.Repeat([]float64{0.1 + 0.2}, n)
		same[0] = 0.3 // the same but for rounding
		if got := Paired(same, 0.95); got.P != want || !math.IsInf(got.Interval.High-got.Interval.Low, 1) {
			t.Errorf("of %d equal differences: %+v, want P %v and no interval", n, got, want)
		}
	}
	if none := Paired([]float64{0, 0, 0}, 0.95); none.P != 1 || none.Mean != 0 {
		t.Errorf("of no difference: %+v", none)
	}
	one := Paired([]float64{0.3}, 0.95)
	if one.Mean != 0.3 || !math.IsInf(one.Interval.High, 1) || !math.IsNaN(one.P) {
		t.Errorf("of one difference: %+v", one)
	}
}
