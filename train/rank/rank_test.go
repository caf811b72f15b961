package rank

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hgld/train/device"
	"hgld/train/metric"
)

// scoresOf draws the scores of a ranking of one kind.
func scoresOf(kind string, r *rand.Rand, n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		x := float32(r.NormFloat64())
		switch kind {
		case "equal":
			x = 0.25
		case "few":
			x = float32(r.IntN(7)) / 8
		case "outlier":
			if i == n/2 {
				x *= 1e30
			}
		case "huge":
			x *= 2e38
		case "infinite":
			x = []float32{x, float32(math.Inf(1)), float32(math.Inf(-1)), -math.MaxFloat32, math.MaxFloat32}[r.IntN(5)]
		case "zeros":
			x = []float32{0, float32(math.Copysign(0, -1)), 1e-45, -1e-45}[r.IntN(4)]
		}
		s[i] = x
	}
	return s
}

// ranked sorts all items by falling score and then by row.
func ranked(scores []float32, levels []byte) (rows []int32) {
	for i := range scores {
		if levels[i] != device.AbsentLevel {
			rows = append(rows, int32(i))
		}
	}
	slices.SortStableFunc(rows, func(a, b int32) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	return rows
}

// Whatever the scores, the items are those of the whole ranking, sorted.
func TestItemsAreThoseOfTheSortedRanking(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var ranker Ranker
	apart := Ranker{most: 1} // as for more rows than there are bits for
	for _, kind := range []string{"normal", "equal", "few", "outlier", "huge", "infinite", "zeros"} {
		for _, share := range []int{1, 2, 10, 1000} { // of the items, one in so many is positive
			for _, n := range []int{1, 2, 17, 300, 5000} {
				scores, levels := scoresOf(kind, r, n), make([]byte, n)
				var positives, absent []int32
				for i := range levels {
					switch {
					case r.IntN(50) == 0:
						levels[i] = device.AbsentLevel
						absent = append(absent, int32(i))
					case r.IntN(share) == 0:
						levels[i] = byte(1 + r.IntN([]int{3, 126}[i%2]))
						positives = append(positives, int32(i))
					}
				}
				rows := ranked(scores, levels)
				bytes := make([]byte, len(rows))
				for i, row := range rows {
					bytes[i] = levels[row]
					if i > 0 && scores[row] == scores[rows[i-1]] {
						bytes[i] |= metric.Tied
					}
				}
				want, all := metric.Items(nil, bytes)
				got, count := ranker.Items(scores, levels, positives, absent)
				if count != all || !slices.Equal(got, want) {
					t.Fatalf("%s, %d items, one in %d positive: %d of %d items differ", kind, n, share, len(got), len(want))
				}
				if got, count := apart.Items(scores, levels, positives, absent); count != all || !slices.Equal(got, want) {
					t.Fatalf("%s, %d items, levels apart: %d of %d items differ", kind, n, len(got), len(want))
				}
				for _, k := range []int{0, 1, 3, n / 3, n, n + 5} {
					first, found := ranker.Nearest(nil, nil, scores, levels, k)
					if !slices.Equal(first, rows[:min(k, len(rows))]) || len(found) != len(first) {
						t.Fatalf("%s, %d items: the first %d differ", kind, n, k)
					}
				}
			}
		}
	}
}

// A bucket holds every score that lies between two of its own.
func TestBucketsFallWithTheScore(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, kind := range []string{"normal", "equal", "few", "outlier", "huge", "infinite", "zeros"} {
		scores := scoresOf(kind, r, 1000)
		for _, positives := range [][]int32{{0}, {1, 2}, {3, 4, 5, 6, 7, 8}} {
			c := bucketsOf(scores, positives, bucketsFor(len(scores)))
			sorted := slices.Clone(scores)
			slices.Sort(sorted)
			for i := 1; i < len(sorted); i++ {
				if c.One(sorted[i]) > c.One(sorted[i-1]) {
					t.Fatalf("%s: the bucket of %v is above that of %v", kind, sorted[i], sorted[i-1])
				}
			}
		}
	}
}
