package landmarks

import (
	"math"
	"math/rand/v2"
	"testing"

	"hgld/internal/testing/must"
)

// Directions of large and of small variance count alike: (9, 0) and (0, 1) from the mean are as far from one
// another as a right angle, and (9, 1) lies halfway.
func TestWhiteningEvensDirections(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var rows []float32
	for range 20000 {
		rows = append(rows, float32(5+9*r.NormFloat64()), float32(-3+r.NormFloat64()))
	}
	w, err := Learn(rows, 2, 0)
	must.Do(t, err)
	got := w.Apply([]float32{5 + 9, -3, 5, -3 + 1, 5 + 9, -3 + 1})
	dot := func(a, b int) float64 {
		return float64(got[2*a])*float64(got[2*b]) + float64(got[2*a+1])*float64(got[2*b+1])
	}
	for _, c := range []struct {
		a, b int
		want float64
	}{{0, 0, 1}, {1, 1, 1}, {0, 1, 0}, {0, 2, math.Sqrt2 / 2}, {1, 2, math.Sqrt2 / 2}} {
		if d := dot(c.a, c.b); math.Abs(d-c.want) > 0.02 { // of 20,000 draws
			t.Errorf("rows %d and %d: cosine %v, want %v", c.a, c.b, d, c.want)
		}
	}
	if _, err := Learn(rows[:4], 2, 2); err == nil {
		t.Error("two rows vary in two directions")
	}
}
