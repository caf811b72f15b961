package metric

import (
	"encoding/binary"
)

// Item is a place of a ranking that metrics read.
type Item struct {
	Place  int32 // items ranked before it
	Shared byte  // levels shared with the query, plus Tied if its score equals the previous item's
}

// Items appends what metrics read of a query's ranked bytes: the positives, and all items whose
// score equals that of a positive. n is the number of ranked items. A byte holds the number of
// shared levels, 0…L, plus Tied if the score equals that of the previous item; 255 marks places
// beyond the last item.
//
// Untied negatives, which are nearly all of a long row, are skipped eight at a time.
func Items(dst []Item, shared []byte) (items []Item, n int) {
	for first := 0; first < len(shared); {
		for first+8 < len(shared) && binary.LittleEndian.Uint64(shared[first+1:]) == 0 && shared[first]&levelMask == 0 {
			first += 8
		}
		if shared[first] == beyond {
			return dst, first
		}
		end, levels := first+1, shared[first]&levelMask
		for end < len(shared) && shared[end]&Tied != 0 && shared[end] != beyond {
			levels |= shared[end] & levelMask
			end++
		}
		for i := first; i < end && levels > 0; i++ {
			item := Item{Place: int32(i), Shared: shared[i]}
			if i == first {
				item.Shared &= levelMask
			}
			dst = append(dst, item)
		}
		first = end
	}
	return dst, len(shared)
}

// mixed reports whether two neighbours with equal scores have different levels.
func mixed(items []Item) bool {
	for i := 1; i < len(items); i++ {
		if items[i].Shared&Tied != 0 && (items[i].Shared^items[i-1].Shared)&levelMask != 0 {
			return true
		}
	}
	return false
}
