package metric

import (
	"math/rand/v2"
	"testing"
)

// Behind the place that a metric reaches, the order of the items changes nothing.
func TestNothingBehindItsReachChangesAMetric(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for _, m := range everything {
		set := Set{m}
		a, b := make([]float64, len(set.Keys(3))), make([]float64, len(set.Keys(3)))
		list := NewList(3, ScoreThenRow)
		for range 200 {
			shared := make([]byte, 1+random.IntN(30))
			for i := range shared {
				shared[i] = byte(max(random.IntN(8)-4, 0))
			}
			list.Reset(shared)
			set.Measure(a, list)
			rest := shared[Reach(m, list):]
			random.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
			list.Reset(shared)
			set.Measure(b, list)
			for i := range a {
				if !equal(a[i], b[i]) {
					t.Fatalf("%s changes from %v to %v", m.Name(), a[i], b[i])
				}
			}
		}
	}
}
