package retrieval

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/device/cpu"
	"hgld/train/metric"
)

// TestLookShowsTheRankingThatIsMeasured sorts by definition, and asks for blocks of
// one query and of all.
func TestLookShowsTheRankingThatIsMeasured(t *testing.T) {
	const n, d, places = 40, 3, 7
	random := rand.New(rand.NewPCG(3, 4))
	values := make([]float32, n*d)
	list := make([]labels.Path, n)
	self := make([]int32, n)
	for i := range n {
		for k := range d {
			values[i*d+k] = float32(random.IntN(5)) // many equal scores
		}
		list[i], self[i] = labels.Path{int32(i % 8), int32(i % 2)}, int32(i)
	}
	set, err := metric.ParseSet([]string{"P@7"})
	must.Do(t, err)
	for _, memory := range []int{1, 1 << 20} {
		b := cpu.New(2)
		side := sideOf(t, b, &Matrix{d, values}, list)
		var queries, vectors []int
		observer := &Observer{Places: places, Queries: []int{0, 13, 39}, Curves: make([]metric.Curve, 2)}
		observer.Ranking = func(q int, rows []int32, scores []float32) error {
			queries = append(queries, q)
			want := make([]int32, 0, n)
			score := func(i int32) float32 {
				s := float32(0)
				for k := range d {
					s += values[q*d+k] * values[int(i)*d+k]
				}
				return s
			}
			for i := range int32(n) {
				if int(i) != q {
					want = append(want, i)
				}
			}
			slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(score(b), score(a)) })
			if !slices.Equal(rows, want[:places]) {
				t.Errorf("query %d: rows %v, want %v", q, rows, want[:places])
			}
			for k, s := range scores {
				if s != score(want[k]) {
					t.Errorf("query %d, place %d: score %v, want %v", q, k, s, score(want[k]))
				}
			}
			return nil
		}
		observer.Vector = func(q int, v []float32) error {
			vectors = append(vectors, q)
			if !slices.Equal(v, values[q*d:][:d]) {
				t.Errorf("vector %d is %v", q, v)
			}
			return nil
		}
		e := &Evaluation{Query: side, Gallery: side, Self: self, Levels: []string{"a", "b"}, Metrics: set, Memory: memory,
			Observer: observer}
		if _, err := Evaluate(t.Context(), b, e); err != nil {
			t.Fatal(err)
		}
		if len(queries) != n || !slices.IsSorted(queries) || !slices.Equal(vectors, observer.Queries) ||
			observer.Curves[0].Queries != n {
			t.Errorf("memory %d: rankings of %v, vectors of %v, curves of %d queries", memory, queries, vectors,
				observer.Curves[0].Queries)
		}
		stop := errors.New("enough")
		observer.Ranking = func(int, []int32, []float32) error { return stop }
		if _, err := Evaluate(t.Context(), b, e); !errors.Is(err, stop) {
			t.Errorf("error %v", err)
		}
	}
}

func TestLookAtMorePlacesThanThereAre(t *testing.T) {
	b := cpu.New(1)
	list := []labels.Path{{0}, {0}, {1}}
	side := sideOf(t, b, &Matrix{1, []float32{3, 2, 1}}, list)
	observer := &Observer{Places: 100, Ranking: func(q int, rows []int32, _ []float32) error {
		if len(rows) != 2 || int(rows[0]) == q {
			t.Errorf("query %d: %v", q, rows)
		}
		return nil
	}}
	e := &Evaluation{Query: side, Gallery: side, Self: []int32{0, 1, 2}, Levels: []string{"a"}, Observer: observer}
	if _, err := Evaluate(t.Context(), b, e); err != nil {
		t.Fatal(err)
	}
}
