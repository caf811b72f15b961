package rank

import (
	"slices"

	"hgld/internal/ranksort"
	"hgld/internal/vec"
	"hgld/train/metric"
)

// mostFew is the number of positives up to which it is fastest to compare every score with each.
const mostFew = 16

// countFew compares all scores with those of a few positives. It returns false if a negative has
// the same score as a positive.
func (r *Ranker) countFew(scores []float32, levels []byte, positives, absent []int32) bool {
	r.keys = grow(r.keys, len(positives))
	for i, row := range positives {
		r.keys[i] = r.key(scores[row], uint32(row), levels[row])
	}
	slices.Sort(r.keys)
	var above, equal [mostFew]int
	const cached = 1 << 12 // scores that stay in the L1 cache
	for lo := 0; lo < len(scores); lo += cached {
		part := scores[lo:min(lo+cached, len(scores))]
		for i, key := range r.keys {
			a, e := vec.CountAbove(part, ranksort.Score(key))
			above[i], equal[i] = above[i]+a, equal[i]+e
		}
	}
	for i, key := range r.keys {
		for _, row := range absent {
			switch s := ranksort.Score(key); {
			case scores[row] > s:
				above[i]--
			case scores[row] == s:
				equal[i]--
			}
		}
	}
	for i := 0; i < len(r.keys); {
		group := sameScore(r.keys[i:])
		if equal[i] != len(group) {
			return false
		}
		i += len(group)
	}
	before := ^uint64(0)
	for i, key := range r.keys {
		item := metric.Item{Place: int32(above[i]), Shared: r.level(key, levels)}
		if key>>32 == before {
			item.Shared |= metric.Tied
			item.Place = r.items[i-1].Place + 1
		}
		r.items, before = append(r.items, item), key>>32
	}
	return true
}

// sameScore returns the first keys, which have the same score.
func sameScore(keys []uint64) []uint64 {
	n := 1
	for n < len(keys) && keys[n]>>32 == keys[0]>>32 {
		n++
	}
	return keys[:n]
}
