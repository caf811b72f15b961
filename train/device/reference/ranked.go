package reference

import (
	"cmp"
	"slices"

	"hgld/train/device"
)

// Order returns the items that exist and have at least the level least, ordered by falling score,
// then row.
func Order(scores, shared []float64, least float64) []int {
	var list []int
	for i, l := range shared {
		if l != device.AbsentLevel && l >= least {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), a-b)
	})
	return list
}
