package cluster

import (
	"context"
	"math"
	"slices"
	"testing"

	"hgld/internal/blas"
	"hgld/internal/testing/must"
)

// Merging all reciprocal nearest pairs at once, and following a chain, build the same tree. On a
// line with growing gaps there is one such pair at a time.
func TestReciprocalRoundsAndChainBuildTheSameTree(t *testing.T) {
	gaps := NewMatrix(60, 1)
	for i := range gaps.Rows {
		gaps.Data[i] = float32(math.Pow(1.3, float64(i)))
	}
	for name, x := range map[string]Matrix{"planted": planted(400, 12, 9, 1, 5), "gaps": gaps,
		"two rows": rowsOf(gaps, 0, 2), "a row": rowsOf(gaps, 0, 1)} {
		for _, linkage := range []Linkage{Ward, Average} {
			got := must.Get(Agglomerate(context.Background(), x, linkage, nil))(t)
			p := must.Get(KMeans{}.prepare(x))(t)
			c, _ := newChain(blas.Gonum(), p, linkage)
			want := must.Get(c.tree(context.Background()))(t)
			for m, w := range want.Merges {
				// The distances of merged clusters are rounded to float32 in another order.
				if g := got.Merges[m]; g.Size != w.Size || math.Abs(g.Height-w.Height) > 1e-5*w.Height {
					t.Fatalf("%s, %s: merge %d is %+v, by the chain alone %+v", name, linkage, m, g, w)
				}
			}
			for k := 1; k <= min(x.Rows, 40); k++ {
				a, errA := got.Cut(k)
				b, errB := want.Cut(k)
				if errA != nil || errB != nil || !slices.Equal(a, b) {
					t.Fatalf("%s, %s: cuts into %d differ", name, linkage, k)
				}
			}
		}
	}
}
