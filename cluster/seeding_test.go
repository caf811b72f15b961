package cluster

import (
	"math"
	"math/rand/v2"
	"testing"

	"hgld/internal/blas"
	"hgld/internal/testing/must"
)

// The distances of all rows are updated for some centroids at a time; the pool and the judges are
// updated at once. The judges may be all rows, some rows, or rows read from the products of all.
func TestSeedingDistancesAreThoseToTheChosenRows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x := NewMatrix(2000, 16)
	for i := range x.Data {
		x.Data[i] = float32(r.NormFloat64())
	}
	lib := must.Get(blas.Default())(t)
	for _, c := range []struct {
		name     string
		k, tries int
		gram     bool
	}{{"some judge", 100, 6, false}, {"all judge", 130, 6, false}, {"products of all rows", 130, 6, true},
		{"one candidate", 100, 1, false}} {
		t.Run(c.name, func(t *testing.T) {
			o := KMeans{K: c.k, BLAS: lib}
			p := must.Get(o.prepare(x))(t)
			var gram []float32
			if c.gram {
				if gram = o.gram(p, 20); gram == nil {
					t.Fatal("20 starts do not share products")
				}
			}
			s := newSeeding(p, o, c.tries, gram, rand.New(rand.NewPCG(1, 2)))
			s.keep = true
			want := make([]float64, x.Rows)
			for i := range want {
				want[i] = math.Inf(1)
			}
			var rows []int
			for n := range c.k {
				chosen := s.next(n == 0)
				rows = append(rows, chosen)
				for i := range want {
					want[i] = min(want[i], distance2(p.y.Row(i), wide(p.y.Row(chosen))))
				}
				s.compare(t, want)
			}
			s.updateDistances()
			for i, d := range s.all.nearest {
				closeTo(t, i, d, want[i])
				for k, row := range rows {
					closeTo(t, i, s.kept[k][i], float64(dot(x.Row(i), x.Row(row))))
				}
			}
		})
	}
}

// compare checks the distances of the pool and of the judges.
func (s *seeding) compare(t *testing.T, want []float64) {
	t.Helper()
	for _, c := range s.pool {
		closeTo(t, c.row, c.now, want[c.row])
	}
	for i, d := range s.judges.nearest {
		if s.of != nil {
			i = s.of[i]
		}
		closeTo(t, i, d, want[i])
	}
}

// closeTo allows for float32 products of rows with a squared length of about 16.
func closeTo(t *testing.T, row int, got float32, want float64) {
	t.Helper()
	if math.Abs(float64(got)-want) > 1e-4 {
		t.Fatalf("row %d is at %g of the nearest centroid, want %g", row, got, want)
	}
}

func wide(row []float32) []float64 {
	out := make([]float64, len(row))
	for i, v := range row {
		out[i] = float64(v)
	}
	return out
}
