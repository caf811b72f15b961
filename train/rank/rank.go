// Package rank finds the places of a query's positives in the ranking of a gallery. Metrics read
// nothing else, so most items need not be sorted but only counted.
//
// The order equals that of device.Backend's Ranked for any input: falling score, then row.
package rank

import (
	"math"
	"math/bits"

	"hgld/internal/ranksort"
	"hgld/internal/vec"
	"hgld/train/metric"
)

// most is the greatest number of buckets, which are ranges of scores counted separately. Their
// counts stay in the L2 cache, and with 60,000 items of normally distributed scores few buckets
// hold several items.
const most = 1 << 17

// bucketsFor returns about as many buckets as items.
func bucketsFor(items int) int { return min(max(1<<bits.Len(uint(items)), 16), most) }

// Ranker is scratch memory for one goroutine. The zero value is ready to use.
type Ranker struct {
	count  *[most]uint32     // number of items, or where a bucket's next item goes in keys
	bucket [1024]uint32      // of some scores
	near   []uint64          // items in marked buckets: bucket and row
	keys   []uint64          // of the items to sort, by bucket
	spare  []uint64          // of sorts
	passed []int32           // for the first key of each bucket: items before it that are not in keys
	large  []span            // buckets of many keys
	fine   *[mostFine]uint32 // of orderEvenly
	items  []metric.Item

	packed bool // keys contain levels
	most   int  // rows for which they do; 0: as many as the bits allow
}

// span is a range of keys.
type span struct{ lo, hi int }

// Items returns the items that metrics read: the positives in ranked order, and all items whose
// score equals that of a positive. n is the number of items ranked. levels holds for each row the
// levels shared with the query, or device.AbsentLevel. positives are the rows with a level above 0,
// and absent those at device.AbsentLevel, both in any order. The items are valid until the next
// call. Scores must not be NaN.
func (r *Ranker) Items(scores []float32, levels []byte, positives, absent []int32) (items []metric.Item, n int) {
	r.items = r.items[:0]
	n = len(scores) - len(absent)
	if len(positives) == 0 {
		return r.items, n
	}
	if r.count == nil {
		r.count = new([most]uint32)
	}
	r.packed = r.holdsLevels(len(scores))
	if len(positives) <= mostFew && r.countFew(scores, levels, positives, absent) {
		return r.items, n
	}
	if buckets := bucketsFor(len(scores)); len(positives) < buckets/sparse {
		r.countMost(buckets, scores, levels, positives, absent)
	} else {
		r.sortMost(scores, levels, positives, absent)
	}
	return r.items, n
}

// sparse is the number of buckets per positive from which it is faster to count most items. With
// fewer, most buckets hold a positive.
const sparse = 4

// bucketsOf spreads buckets over the scores of the positives. Equal scores share a bucket, and
// the bucket never rises with the score; exactness needs nothing more. Bucket 0 is above all
// positives, the last bucket below them.
func bucketsOf(scores []float32, positives []int32, buckets int) vec.Buckets {
	lo, hi := scores[positives[0]], scores[positives[0]]
	for _, row := range positives {
		if s := scores[row]; s < lo {
			lo = s
		} else if s > hi {
			hi = s
		}
	}
	hi = min(hi, math.MaxFloat32/4) // so that the difference is finite
	lo = min(max(lo, -math.MaxFloat32/4), hi)
	inner := buckets - 3 // one above all positives, one below, one for the rounding of lo
	factor := float32(inner) / (hi - lo)
	if !(factor <= 1e30) { // equal scores
		factor = 1e30
	}
	return vec.Buckets{Low: hi, Factor: -factor, Top: float32(buckets - 2)}
}

// levelBits is the number of bits of a key that hold the level of its item, after the row.
const levelBits = 7

// holdsLevels reports whether the keys of the given number of rows have room for levels.
func (r *Ranker) holdsLevels(rows int) bool {
	most := r.most
	if most == 0 {
		most = 1 << (32 - levelBits)
	}
	return rows <= most
}

// key returns the key of an item, with the level if there is room.
func (r *Ranker) key(score float32, row uint32, level byte) uint64 {
	if r.packed {
		row = row<<levelBits | uint32(level)
	}
	return ranksort.Key(score, row)
}

// level returns the level of a key's item.
func (r *Ranker) level(key uint64, levels []byte) byte {
	if r.packed {
		return byte(key) & (1<<levelBits - 1)
	}
	return levels[uint32(key)]
}

// emit appends the positives among sorted keys, and the items tied with them. place is the number
// of items ranked before keys. passed gives, for each key, the items before it that are not in
// keys; nil: there are none.
func (r *Ranker) emit(keys []uint64, place int, passed []int32, levels []byte) {
	n := len(r.items)
	r.items = grow(r.items, n+len(keys)+1)
	items, skipped := r.items, int32(place)
	for i := 0; i < len(keys); i++ {
		key := keys[i]
		if passed != nil {
			skipped = max(skipped, int32(place)+passed[i])
		}
		if i+1 == len(keys) || keys[i+1]>>32 != key>>32 { // nearly always; there is no branch on whether it is positive
			shared := r.level(key, levels)
			items[n] = metric.Item{Place: int32(i) + skipped, Shared: shared}
			n += int((shared + 0x7f) >> 7)
			continue
		}
		end, any := i, byte(0)
		for end < len(keys) && keys[end]>>32 == key>>32 {
			any |= r.level(keys[end], levels)
			end++
		}
		for at := i; at < end && any > 0; at++ {
			items[n] = metric.Item{Place: int32(at) + skipped, Shared: r.level(keys[at], levels)}
			if at > i {
				items[n].Shared |= metric.Tied
			}
			n++
		}
		i = end - 1
	}
	r.items = items[:n]
}

// grow returns s with n elements, keeping the first.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		longer := make([]T, n, n+n/4)
		copy(longer, s)
		return longer
	}
	return s[:n]
}
