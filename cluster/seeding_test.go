package cluster

import (
	"math"
	"math/rand/v2"
	"testing"

	"hgld/internal/blas"
)

// Without the products of all rows a centroid's candidates may come from two
// draws, whose products are kept apart.
func TestDistancesWhileSeedingAreThoseToTheChosenRows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x := NewMatrix(1500, 16)
	for i := range x.Data {
		x.Data[i] = float32(r.NormFloat64())
	}
	lib, err := blas.Default()
	if err != nil {
		t.Fatal(err)
	}
	p, err := KMeans{K: 100, BLAS: lib}.prepare(x)
	if err != nil {
		t.Fatal(err)
	}
	s := newSeeding(p, CPU{BLAS: lib}, nil, rand.New(rand.NewPCG(1, 2)))
	want := make([]float64, x.Rows)
	for i := range want {
		want[i] = math.Inf(1)
	}
	for c := range 100 {
		chosen := s.next(6, c == 0)
		for i := range want {
			want[i] = min(want[i], distance2(p.y.Row(i), wide(p.y.Row(chosen))))
			// Products in float32 of rows whose squared lengths are about 16.
			if math.Abs(float64(s.nearest[i])-want[i]) > 1e-4 {
				t.Fatalf("after %d centroids row %d is at %g of the nearest, want %g", c+1, i, s.nearest[i], want[i])
			}
		}
	}
}

func wide(row []float32) []float64 {
	out := make([]float64, len(row))
	for i, v := range row {
		out[i] = float64(v)
	}
	return out
}
