package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Every length counts as the loop does, NaN, zeros of both signs and infinities among the numbers.
func TestCountsEqualTheLoop(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	special := []float32{0, float32(math.Copysign(0, -1)), 1, -1, 0.5, float32(math.NaN()), float32(math.Inf(1)),
		float32(math.Inf(-1))}
	for _, n := range lengths() {
		x := make([]float32, n)
		for i := range x {
			x[i] = special[r.IntN(len(special))]
		}
		for _, limit := range special {
			above, equal := 0, 0
			for _, v := range x {
				if v > limit {
					above++
				}
				if v == limit {
					equal++
				}
			}
			if a, e := CountAbove(x, limit); a != above || e != equal {
				t.Fatalf("%d numbers: %d above %v and %d equal, want %d and %d", n, a, limit, e, above, equal)
			}
		}
	}
}
