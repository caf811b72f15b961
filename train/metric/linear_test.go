package metric

import (
	"math"
	"testing"
)

// The values are those of sklearn.metrics.ndcg_score([[2, 0, 1, 3, 0]], [[5, 4, 3, 2, 1]]), also with k=3.
func TestLinearNDCGIsThatOfScikitLearn(t *testing.T) {
	l := NewList(3, ScoreThenRow)
	l.Reset([]byte{2, 0, 1, 3, 0})
	for m, want := range map[NDCG]float64{{Linear: true}: 0.7963337995444919, {K: 3, Linear: true}: 0.5250049893849102} {
		if got, defined := ofList(m, l); !defined || math.Abs(got-want) > 1e-15 {
			t.Errorf("%s = %v, want %v", m.Name(), got, want)
		}
	}
}
