package rank

import (
	"slices"

	"hgld/internal/ranksort"
	"hgld/train/device"
)

// Nearest appends the first k rows of a ranking to rows, and their scores to found. levels holds
// the levels of the items; those at device.AbsentLevel are skipped. nil: none is.
func (r *Ranker) Nearest(rows []int32, found, scores []float32, levels []byte, k int) ([]int32, []float32) {
	if k <= 0 {
		return rows, found
	}
	keys := r.near[:0]
	room, worst := max(4*k, 1024), ^uint64(0) // keys that are kept before the worse ones are dropped
	for row, s := range scores {
		if levels != nil && levels[row] == device.AbsentLevel {
			continue
		}
		key := ranksort.Key(s, uint32(row))
		if key > worst {
			continue
		}
		if keys = append(keys, key); len(keys) == room {
			slices.Sort(keys)
			keys = keys[:k]
			worst = keys[k-1]
		}
	}
	r.near = keys
	r.spare = grow(r.spare, len(keys))
	for _, key := range first(ranksort.Sort(keys, r.spare), k) {
		row := int32(uint32(key))
		rows, found = append(rows, row), append(found, scores[row])
	}
	return rows, found
}

func first[T any](s []T, k int) []T { return s[:min(k, len(s))] }
