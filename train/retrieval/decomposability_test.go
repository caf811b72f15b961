package retrieval

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device/cpu"
	"hgld/train/metric"
	"hgld/train/sample"
)

// The gap by its definition: AP of each batch by brute force, with random vectors so that
// no scores are equal.
func TestGapIsTheMeanOfBatchesLessTheWhole(t *testing.T) {
	const items, dim, size, seed = 45, 8, 10, 3
	b := cpu.New(2)
	m := &Matrix{dim, make([]float32, items*dim)}
	r := sample.NewRandom(1)
	for i := range m.Values {
		m.Values[i] = float32(r.Float64() - 0.5)
	}
	_, list := cloud(items)
	side := sideOf(t, b, m, list)
	self := make([]int32, items)
	for i := range self {
		self[i] = int32(i)
	}
	set, err := metric.ParseSet([]string{"AP"})
	must.Do(t, err)
	e := &Evaluation{Query: side, Gallery: side, Self: self, Levels: []string{"a", "b"}, Metrics: set,
		Gap: size, GapSeed: seed}
	got, err := Evaluate(t.Context(), b, e)
	must.Do(t, err)
	row := func(i int) []float32 { return m.Values[i*dim : (i+1)*dim] }
	ap := func(q, level int, rows []int) float64 { // NaN without a positive
		score := func(i int) float64 { return dot(row(q), row(i)) }
		rows = slices.DeleteFunc(slices.Clone(rows), func(i int) bool { return i == q })
		slices.SortFunc(rows, func(x, y int) int { return cmp.Compare(score(y), score(x)) })
		sum, hits := 0.0, 0.0
		for i, x := range rows {
			if list[x][level] == list[q][level] {
				hits++
				sum += hits / float64(i+1)
			}
		}
		return sum / hits
	}
	order := sample.NewRandom(seed).Choose(items, items)
	for level, key := range []string{"AP_level0", "AP_level1"} {
		var gaps []float64
		for q := range items {
			var batches []float64
			for lo := 0; lo < items; lo += size {
				batches = append(batches, ap(q, level, order[lo:min(lo+size, items)]))
			}
			mean, _ := metric.Mean(batches)
			gaps = append(gaps, mean-ap(q, level, order))
		}
		want, _ := metric.Mean(gaps)
		if v := got.value(key); v.Gap == nil || math.Abs(float64(*v.Gap)-want) > 1e-12 { // sums of other orders
			t.Errorf("%s: gap %v, want %v", key, v.Gap, want)
		}
	}
	if *got.Batches != (Batches{Size: size, Count: 5, Seed: seed}) {
		t.Errorf("%+v", got.Batches)
	}
	e.Gap = items // one batch is the whole
	if whole, err := Evaluate(t.Context(), b, e); err != nil || math.Abs(float64(*whole.value("AP_level0").Gap)) > 1e-15 {
		t.Errorf("the gap of one batch is not 0: %v", err)
	}
	var table strings.Builder
	const want = "decomposability gap of 5 batches of 10, seed 3\nAP_level0"
	if err := got.Table(&table); err != nil || !strings.Contains(table.String(), want) {
		t.Errorf("%v\n%s", err, table.String())
	}
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}
