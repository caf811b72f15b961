package rank

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"hgld/internal/testing/usertime"
)

// BenchmarkItems ranks one query: a twelfth of 20,000 and of 60,502 items positive, as in Stanford Online Products,
// five of 60,502, and half of 762,000.
func BenchmarkItems(b *testing.B) {
	for _, c := range []struct{ items, share int }{
		{5_000, 12}, {20_000, 12}, {60_502, 12}, {60_502, 12_000}, {762_000, 2},
	} {
		b.Run(fmt.Sprintf("%d in %d", c.items/c.share, c.items), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			var all [4][]float32 // as many queries, so that branches are not learnt
			var levels [4][]byte
			var positives [4][]int32
			for q := range all {
				all[q], levels[q] = scoresOf("normal", r, c.items), make([]byte, c.items)
				for i := range levels[q] {
					if r.IntN(c.share) == 0 {
						levels[q][i] = 1
						positives[q] = append(positives[q], int32(i))
					}
				}
			}
			var ranker Ranker
			q := 0
			usertime.Measure(b, nil, func() error {
				ranker.Items(all[q%4], levels[q%4], positives[q%4], nil)
				q++
				return nil
			})
		})
	}
}
