package retrieval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/testing/conformance"
	"hgld/train/metric"
)

func sideOf(t *testing.T, b device.Backend, m *Matrix, list []labels.Path) Side {
	t.Helper()
	a, err := Upload(b, m, false)
	must.Do(t, err)
	return Side{Vectors: a, Labels: list}
}

// goldenCase is what ranking.json and large.json have in common.
type goldenCase struct {
	Name          string        `json:"name"`
	Self          bool          `json:"self"`
	QueryLabels   []labels.Path `json:"query_labels"`
	GalleryLabels []labels.Path `json:"gallery_labels"`
	QueryIndex    []int32       `json:"query_index"`
	Scores        [][]float32   `json:"scores"`
	Expected      struct {
		ScoreThenRow json.RawMessage `json:"score_then_row"`
		AverageTies  json.RawMessage `json:"average_ties"`
	} `json:"expected"`
}

type goldenValues struct {
	Mean     map[string]Number   `json:"mean"`
	Skipped  map[string]int      `json:"skipped"`
	PerQuery map[string][]Number `json:"per_query"`
}

// TestGoldenEvaluation runs the rankings through the backend's operations: with
// unit vectors as queries, gallery row i being the scores of item i, the products
// are the scores exactly.
func TestGoldenEvaluation(t *testing.T) {
	var file struct{ Cases []goldenCase }
	goldens.ReadJSON(t, filepath.Join(goldens.Dir(t, "metrics"), "ranking.json"), &file)
	names := []string{"R@1", "AP", "mAP@R", "mAP@100", "ASI", "NDCG", "AP#1"}
	set, err := metric.ParseSet(names)
	must.Do(t, err)
	set = append(set, metric.HAP{Label: "pop_a1"}, metric.HAP{Relevance: metric.Power{Alpha: 5}, Label: "power_a5"})
	b := conformance.CardOr(t, cpu.New(2))
	for _, c := range file.Cases {
		t.Run("metrics/"+c.Name, func(t *testing.T) {
			queries := len(c.Scores)
			query := &Matrix{queries, make([]float32, queries*queries)}
			gallery := &Matrix{queries, make([]float32, len(c.GalleryLabels)*queries)}
			for q, row := range c.Scores {
				query.Values[q*queries+q] = 1
				for i, s := range row {
					gallery.Values[i*queries+q] = s
				}
			}
			e := &Evaluation{
				Query: sideOf(t, b, query, c.QueryLabels), Gallery: sideOf(t, b, gallery, c.GalleryLabels),
				Levels: make([]string, len(c.QueryLabels[0])), Metrics: set, PerQuery: true, Threads: 3,
			}
			if c.Self {
				e.Self = c.QueryIndex
			}
			for ties, raw := range [][]byte{c.Expected.ScoreThenRow, c.Expected.AverageTies} {
				if raw[0] == '"' { // no ties: the values of the other rule
					raw = c.Expected.ScoreThenRow
				}
				var want goldenValues
				must.Do(t, json.Unmarshal(raw, &want))
				e.Ties = metric.Ties(ties)
				got, err := Evaluate(context.Background(), b, e)
				must.Do(t, err)
				checkGolden(t, got, want)
			}
		})
	}
}

func checkGolden(t *testing.T, got *Result, want goldenValues) {
	t.Helper()
	same := func(a, b Number) bool { // the tolerance of the file
		return math.IsNaN(float64(a)) && math.IsNaN(float64(b)) || math.Abs(float64(a-b)) <= 1e-10
	}
	checked := 0
	for _, v := range got.Values {
		mean, expected := want.Mean[v.Key]
		if !expected {
			continue // mAP@100 is not among the settings of every case
		}
		checked++
		if !same(v.Mean, mean) || v.Skipped != want.Skipped[v.Key] {
			t.Errorf("ties %s: %s = %v (%d skipped), want %v (%d)", got.Ties, v.Key, v.Mean, v.Skipped, mean,
				want.Skipped[v.Key])
		}
		for q, w := range want.PerQuery[v.Key] {
			if g := got.PerQuery.Values[v.Key][q]; !same(g, w) {
				t.Errorf("ties %s: %s of query %d = %v, want %v", got.Ties, v.Key, q, g, w)
			}
		}
	}
	if checked < 8 {
		t.Errorf("only %d keys were compared", checked)
	}
}

// cloud is n vectors whose scores are small whole numbers, so that there are many
// ties, with two levels of labels.
func cloud(n int) (*Matrix, []labels.Path) {
	m := &Matrix{4, make([]float32, 4*n)}
	list := make([]labels.Path, n)
	state := uint64(9)
	for i := range m.Values {
		state = state*6364136223846793005 + 1442695040888963407
		m.Values[i] = float32(int(state>>60) - 8)
	}
	for i := range list {
		list[i] = labels.Path{int32(i % 13), int32(i % 13 / 4)}
	}
	return m, list
}

func allMetrics(t testing.TB) metric.Set {
	t.Helper()
	set, err := metric.ParseSet([]string{"R@1", "R@10", "AP", "mAP@R", "H-AP", "ASI", "NDCG"})
	must.Do(t, err)
	return set
}

func TestBlocksAndThreadsChangeNothing(t *testing.T) {
	b := cpu.New(2)
	m, list := cloud(97)
	side := sideOf(t, b, m, list)
	self := make([]int32, 97)
	for i := range self {
		self[i] = int32(i)
	}
	var want []byte
	for _, c := range []struct{ memory, threads int }{{1 << 30, 1}, {1, 1}, {97 * 7 * 10, 3}, {97 * 7 * 96, 8}} {
		got, err := Evaluate(context.Background(), b, &Evaluation{
			Query: side, Gallery: side, Self: self, Levels: []string{"a", "b"}, Metrics: allMetrics(t),
			Memory: c.memory, Threads: c.threads, PerQuery: true,
		})
		must.Do(t, err)
		text, err := json.Marshal(got)
		must.Do(t, err)
		if want == nil {
			want = text
		} else if !slices.Equal(text, want) {
			t.Errorf("%d bytes of memory, %d threads: another result", c.memory, c.threads)
		}
	}
}

// sortingDevice hides that the scores of a backend lie in the host's memory, so that the
// device sorts.
type sortingDevice struct{ device.Backend }

// What the host counts is what a device sorts, byte for byte: with ties, junk, copies of a
// query's row, both tie rules, the whole rankings of a gap, and what is shown.
func TestCountingIsSorting(t *testing.T) {
	b := cpu.New(2)
	m, list := cloud(211)
	list[3], list[100] = labels.Path{-1, -1}, labels.Path{-1, 2}
	side := sideOf(t, b, m, list)
	ignored := side
	self := make([]int32, 211)
	for i := range self {
		self[i] = int32(i*7%212) - 1
		ignored.Ignore = append(ignored.Ignore, int32(i%9)-1)
	}
	for name, side := range map[string]Side{"labels": side, "ignored": ignored} {
		for _, ties := range []metric.Ties{metric.ScoreThenRow, metric.AverageTies} {
			var want []byte
			for _, device := range []device.Backend{sortingDevice{b}, b} {
				observer := &Observer{Places: 20, Curves: make([]metric.Curve, 2)}
				e := &Evaluation{Query: side, Gallery: side, Self: self, Levels: []string{"a", "b"},
					Metrics: allMetrics(t), Ties: ties, PerQuery: true, Gap: 50, Observer: observer}
				var seen []any
				observer.Ranking = func(query int, rows []int32, scores []float32) error {
					seen = append(seen, query, slices.Clone(rows), slices.Clone(scores))
					return nil
				}
				got, err := Evaluate(t.Context(), device, e)
				must.Do(t, err)
				text, err := json.Marshal([]any{got, seen, observer.Curves[0].Precision(), observer.Curves[1].Precision()})
				must.Do(t, err)
				if want == nil {
					want = text
				} else if !slices.Equal(text, want) {
					t.Errorf("%s, ties %v: counting and sorting differ", name, ties)
				}
			}
		}
	}
}

func TestGalleryItemsWithoutLabelsAreNegatives(t *testing.T) {
	b := cpu.New(1)
	query := sideOf(t, b, &Matrix{1, []float32{1}}, []labels.Path{{0, 0}})
	gallery := sideOf(t, b, &Matrix{1, []float32{3, 2, 1}}, []labels.Path{{-1, -1}, {0, 0}, {-1, -1}})
	got, err := Evaluate(context.Background(), b, &Evaluation{Query: query, Gallery: gallery, Levels: []string{"a", "b"},
		Metrics: metric.Set{metric.AP{}}})
	must.Do(t, err)
	if ap := got.Mean("AP_level0"); ap != 0.5 {
		t.Errorf("AP %v, want 1/2: a distractor is ranked first", ap)
	}
}

func TestEvaluationStopsBetweenBlocks(t *testing.T) {
	b := cpu.New(1)
	m, list := cloud(20)
	side := sideOf(t, b, m, list)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := Evaluate(ctx, b, &Evaluation{Query: side, Gallery: side, Levels: []string{"a", "b"},
		Metrics: allMetrics(t), Memory: 1,
		Progress: func(done, total int) {
			if done == 7 {
				cancel()
			}
		}})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "7 of 20") {
		t.Errorf("error %v", err)
	}
}

func TestUploadNamesTheRowThatIsNotFinite(t *testing.T) {
	values := make([]float32, 12)
	values[7] = float32(math.Inf(1))
	if _, err := Upload(cpu.New(1), &Matrix{3, values}, false); err == nil ||
		!strings.Contains(err.Error(), "embedding 2 has a value that is not finite (column 1)") {
		t.Errorf("error %v", err)
	}
}

// Rows that keep their lengths are refused if the product of two as long is infinite in float32.
func TestRowsTooLongForFloat32AreNamed(t *testing.T) {
	const longest = 1.8446743e19 // its square is the largest number of float32
	for _, device := range []device.Backend{cpu.New(1), sortingDevice{cpu.New(1)}} {
		for _, long := range []struct {
			length float32
			unit   bool
			fails  bool
		}{{longest, false, false}, {1.001 * longest, false, true}, {1e30, true, false}} {
			_, err := SideOf(device, &Matrix{2, []float32{1, 0, 0, long.length}}, long.unit)
			if failed := err != nil && strings.Contains(err.Error(), "embedding 1 has length 1.8e+19"); failed != long.fails {
				t.Errorf("%v: error %v", long, err)
			}
		}
	}
}

// Rows are checked on all threads; the first that is not finite is named all the same.
func TestUploadNamesTheFirstOfManyRows(t *testing.T) {
	values := make([]float32, 4000)
	for _, at := range []int{3990, 2100, 1201} {
		values[at] = float32(math.NaN())
		_, err := Upload(sortingDevice{cpu.New(1)}, &Matrix{2, values}, true)
		_, there := Upload(cpu.New(1), &Matrix{2, values}, true)
		want := fmt.Sprintf("embedding %d has a value that is not finite (column %d)", at/2, at%2)
		for _, err := range []error{err, there} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %s", err, want)
			}
		}
	}
}

func TestUploadScalesRowsToUnitLength(t *testing.T) {
	b := cpu.New(1)
	a, err := Upload(b, &Matrix{2, []float32{3, 4, 0, 0}}, true)
	must.Do(t, err)
	data := make([]byte, 16)
	b.Download(data, a)
	side := Side{Vectors: a, Labels: []labels.Path{{0}, {0}}}
	got, err := Evaluate(context.Background(), b, &Evaluation{Query: side, Gallery: side, Levels: []string{"a"},
		Metrics: metric.Set{metric.AP{}}})
	if err != nil || got.Queries != 2 {
		t.Fatal(got, err)
	}
	for i, want := range []float32{0.6, 0.8, 0, 0} {
		bits := uint32(data[4*i]) | uint32(data[4*i+1])<<8 | uint32(data[4*i+2])<<16 | uint32(data[4*i+3])<<24
		if got := math.Float32frombits(bits); got != want {
			t.Errorf("value %d is %v, want %v", i, got, want)
		}
	}
}

func TestEvaluationRefusesWhatDoesNotFit(t *testing.T) {
	b := cpu.New(1)
	m, list := cloud(5)
	good := sideOf(t, b, m, list)
	for hint, e := range map[string]*Evaluation{
		"5 query and 5 gallery vectors have 4 and 5 labels": {Query: Side{Vectors: good.Vectors, Labels: list[:4]},
			Gallery: good, Levels: []string{"a", "b"}},
		"5 queries, but Self has 2 rows": {Query: good, Gallery: good, Self: []int32{0, 1},
			Levels: []string{"a", "b"}},
		"query 2 is row 5 of a gallery of 5, want −1 to 4": {Query: good, Gallery: good, Self: []int32{0, -1, 5, 1, 1},
			Levels: []string{"a", "b"}},
		"row 0 has 2 labels, want 3": {Query: good, Gallery: good, Levels: []string{"a", "b", "c"}},
		"0 levels":                   {Query: good, Gallery: good},
	} {
		if _, err := Evaluate(context.Background(), b, e); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("error %v, want %q", err, hint)
		}
	}
}

func TestResultIsJSONAndATable(t *testing.T) {
	r := &Result{Version: 1, Queries: 3, Gallery: 9, Levels: []string{"landmark", "kind"}, Values: []Value{
		{Key: "AP_level0", Mean: 0.25, Skipped: 1}, {Key: "R@1_level0", Mean: 0.5, Skipped: 1},
		{Key: "AP_level1", Mean: 0.75},
		{Key: "R@1_level1", Mean: 1}, {Key: "H-AP", Mean: Number(math.NaN()), Skipped: 3},
	}}
	text, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(text), `{"key":"H-AP","mean":null,"skipped":3}`) {
		t.Errorf("%s, %v", text, err)
	}
	var back Result
	if err := json.Unmarshal(text, &back); err != nil || !math.IsNaN(back.Mean("H-AP")) || back.Mean("AP_level1") != 0.75 {
		t.Errorf("%+v, %v", back, err)
	}
	var table strings.Builder
	must.Do(t, r.Table(&table))
	want := `3 queries, 9 gallery items

level          AP      R@1  skipped
landmark    25.00    50.00        1
kind        75.00   100.00        0

H-AP            –  (3 queries skipped)
`
	if table.String() != want {
		t.Errorf("table:\n%s\nwant:\n%s", table.String(), want)
	}
}

// Two items share their levels in seven bits, of which one is the tie's: beyond that an
// evaluation is refused, and up to it ties are counted rightly.
func TestNamesOfAnyLengthKeepTheirColumns(t *testing.T) {
	r := Result{Levels: []string{"a"}, Values: []Value{{Key: "mAP@1000_level0", Mean: 0.5},
		{Key: "H-AP:map:0.5:0.5", Mean: 0.25}, {Key: "H-AP", Mean: 0.125}}}
	var table strings.Builder
	must.Do(t, r.Table(&table))
	for _, want := range []string{"level  mAP@1000  skipped\na         50.00        0\n",
		"H-AP:map:0.5:0.5    25.00\nH-AP                12.50\n"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%s\nwant\n%s", &table, want)
		}
	}
}

func TestMostLevelsAreCounted(t *testing.T) {
	for _, levels := range []int{MostLevels, MostLevels + 1, 2000} {
		names, paths := make([]string, levels), make([]labels.Path, 4)
		for l := range names {
			names[l] = fmt.Sprint(l)
		}
		for i := range paths {
			paths[i] = make(labels.Path, levels)
			for l := range paths[i] {
				paths[i][l] = int32(i / 2)
			}
		}
		b := cpu.New(1)
		vectors := device.New(b, device.F32, 4, 1)
		b.Fill(vectors, 1) // all scores are equal
		set, err := metric.ParseSet([]string{"R@1", "H-AP"})
		must.Do(t, err)
		side := Side{Vectors: vectors, Labels: paths}
		r, err := Evaluate(t.Context(), b, &Evaluation{Query: side, Gallery: side, Self: []int32{0, 1, 2, 3},
			Levels: names, Metrics: set})
		if levels > MostLevels {
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("the data have %d levels, want 1 to 126", levels)) {
				t.Errorf("%d levels: %v", levels, err)
			}
			continue
		}
		if err != nil || r.Mean("R@1_level0") != 0.5 || r.Mean("H-AP") != r.Mean("H-AP") {
			t.Errorf("%d levels: R@1 %v, H-AP %v (%v)", levels, r.Mean("R@1_level0"), r.Mean("H-AP"), err)
		}
	}
}
