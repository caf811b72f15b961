package retrieval

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cpu"
)

// The neighbours are those of a sort of all products, whatever the block, the threads and the
// device: cloud has many equal scores.
func TestSearchIsExact(t *testing.T) {
	const n = 230
	m, list := cloud(n)
	b := cpu.New(2)
	a := sideOf(t, b, m, list)
	stored, err := Store(m, false)
	must.Do(t, err)
	file := Side{Stored: stored}
	self := make([]int32, n)
	for i := range self {
		self[i] = int32(i*3%(n+1)) - 1
	}
	for _, c := range []struct {
		k, memory, threads int
		b                  device.Backend
		query, gallery     Side
	}{{1, 0, 1, b, a, a}, {7, 1, 3, b, a, a}, {7, 0, 2, sortingDevice{b}, a, a}, {n + 9, 9000, 2, b, a, a},
		{7, 0, 2, b, file, file}, {n + 9, 9000, 3, b, a, file}} {
		s := Search{Query: c.query, Gallery: c.gallery, K: c.k, Self: self, Memory: c.memory, Threads: c.threads}
		next := 0
		err := s.Run(t.Context(), c.b, func(q int, rows []int32, scores []float32) error {
			want, of := sortedRows(m, q, int(self[q]))
			want = want[:min(c.k, len(want))]
			if q != next || !slices.Equal(rows, want) {
				t.Fatalf("k %d, query %d after %d: rows %v, want %v", c.k, q, next-1, rows, want)
			}
			for i, row := range rows {
				if scores[i] != of[row] {
					t.Fatalf("query %d: row %d has the score %v, want %v", q, row, scores[i], of[row])
				}
			}
			next++
			return nil
		})
		if err != nil || next != n {
			t.Fatalf("%d of %d queries, %v", next, n, err)
		}
	}
}

// sortedRows sorts the rows of m but one by their product with row q, which is exact.
func sortedRows(m *Matrix, q, but int) (rows []int32, scores []float32) {
	for i := range len(m.Values) / m.Cols {
		sum := float32(0)
		for d := range m.Cols {
			sum += m.Values[q*m.Cols+d] * m.Values[i*m.Cols+d]
		}
		if scores = append(scores, sum); i != but {
			rows = append(rows, int32(i))
		}
	}
	slices.SortStableFunc(rows, func(x, y int32) int { return int(scores[y] - scores[x]) })
	return rows, scores
}

func TestSearchRefusesWhatDoesNotFit(t *testing.T) {
	m, list := cloud(5)
	b := cpu.New(1)
	a := sideOf(t, b, m, list)
	narrow := sideOf(t, b, &Matrix{2, m.Values}, nil)
	stop := errors.New("enough")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for want, c := range map[string]struct {
		ctx context.Context
		s   Search
	}{
		"0 neighbours, want 1 or more":   {t.Context(), Search{Query: a, Gallery: a}},
		"two matrices of the same":       {t.Context(), Search{Query: a, Gallery: narrow, K: 1}},
		"5 queries, but Self has 1 rows": {t.Context(), Search{Query: a, Gallery: a, K: 1, Self: []int32{2}}},
		"stopped after 0 of 5 queries":   {canceled, Search{Query: a, Gallery: a, K: 1}},
		"enough":                         {t.Context(), Search{Query: a, Gallery: a, K: 1}},
	} {
		err := c.s.Run(c.ctx, b, func(int, []int32, []float32) error { return stop })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
