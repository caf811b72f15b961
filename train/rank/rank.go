// Package rank finds the places of a query's positives in the ranking of a gallery. Metrics
// read nothing else, so that most items need not be sorted: they are counted.
//
// The order is that of device.Backend's Ranked, for any input: score falling, equal scores by
// row.
package rank

import (
	"math"
	"math/bits"
	"slices"

	"hgld/internal/ranksort"
	"hgld/internal/vec"
	"hgld/train/metric"
)

// Absent is the level of an item that is not ranked.
const Absent byte = 0xff

// most is the greatest number of buckets, ranges of scores that are counted apart. Their counts
// stay in the L2 cache, and at 60,000 items of normally distributed scores few hold several.
const most = 1 << 17

// bucketsFor returns as many buckets as items, about.
func bucketsFor(items int) int { return min(max(1<<bits.Len(uint(items)), 16), most) }

// marked is the bit of a count whose bucket holds a positive.
const marked = 1 << 31

// Ranker is the scratch memory of one goroutine. The zero value is ready.
type Ranker struct {
	count  *[most]uint32 // of items, or where the next of a marked bucket goes in keys
	bucket [1024]uint32  // of some scores
	near   []uint64      // items in marked buckets: bucket and row
	keys   []uint64      // of near, by bucket
	spare  []uint64      // of the radix sort
	blocks []block
	items  []metric.Item

	packed bool // keys hold levels
	most   int  // rows up to which they do; 0: as many as there are bits for
}

// block is a marked bucket.
type block struct {
	place  int // items ranked before it
	lo, hi int // in keys
}

// Items returns the items that metrics look at: the positives in ranked order, with all items
// whose score equals that of a positive. n is the number of items ranked. levels has for each
// row the levels shared with the query, or Absent; positives are the rows with a level above
// 0, and absent those that are Absent, in any order. The items are valid until the next call.
// Scores must not be NaN.
func (r *Ranker) Items(scores []float32, levels []byte, positives, absent []int32) (items []metric.Item, n int) {
	r.items = r.items[:0]
	n = len(scores) - len(absent)
	if len(positives) == 0 {
		return r.items, n
	}
	if r.count == nil {
		r.count = new([most]uint32)
	}
	buckets := bucketsFor(len(scores))
	c := bucketsOf(scores, positives, buckets)
	clear(r.count[:buckets])
	for _, row := range positives {
		r.count[c.One(scores[row])] = marked
	}
	found := r.countAll(&c, scores)
	for _, row := range absent {
		r.count[c.One(scores[row])]--
	}
	r.placeBlocks(buckets)
	r.collect(found, scores, levels)
	r.items = slices.Grow(r.items, len(positives))
	for _, b := range r.blocks {
		r.emit(b, levels)
	}
	return r.items, n
}

// bucketsOf spreads buckets over the scores of the positives. Equal scores share a bucket, and the
// bucket never falls while the score rises; exactness rests on no more than that.
func bucketsOf(scores []float32, positives []int32, buckets int) vec.Buckets {
	lo, hi := scores[positives[0]], scores[positives[0]]
	for _, row := range positives {
		lo, hi = min(lo, scores[row]), max(hi, scores[row])
	}
	lo = max(lo, -math.MaxFloat32/4) // so that the difference is finite
	hi = max(min(hi, math.MaxFloat32/4), lo)
	inner := buckets - 3 // one below all positives, one above, one for the rounding of hi
	factor := float32(inner) / (hi - lo)
	if !(factor <= 1e30) { // equal scores
		factor = 1e30
	}
	return vec.Buckets{Low: lo, Factor: factor, Top: float32(buckets - 2)}
}

// countAll counts the items of each bucket, and lists those in marked ones.
func (r *Ranker) countAll(c *vec.Buckets, scores []float32) []uint64 {
	r.near = grow(r.near, len(scores)+1) // one more: the last store may be dropped
	near, count := r.near, r.count
	n := 0
	for lo := 0; lo < len(scores); lo += len(r.bucket) {
		part := scores[lo:min(lo+len(r.bucket), len(scores))]
		c.Of(r.bucket[:], part)
		for i, b := range r.bucket[:len(part)] {
			have := count[b&(most-1)]
			count[b&(most-1)] = have + 1
			near[n] = uint64(b)<<32 | uint64(lo+i)
			n += int(have >> 31)
		}
	}
	return near[:n]
}

// placeBlocks lists the marked buckets in the order of the ranking, and replaces their counts
// by where they begin in keys. Runs of unmarked ones are only added up.
func (r *Ranker) placeBlocks(buckets int) {
	r.blocks = r.blocks[:0]
	place, at := 0, 0
	for b := buckets - 4; b >= 0; b -= 4 {
		four := r.count[b : b+4]
		if (four[0]|four[1]|four[2]|four[3])&marked == 0 {
			place += int(four[0] + four[1] + four[2] + four[3])
			continue
		}
		for i := 3; i >= 0; i-- {
			size := int(four[i] &^ marked)
			if four[i]&marked != 0 {
				r.blocks = append(r.blocks, block{place, at, at + size})
				four[i] = uint32(at)
				at += size
			}
			place += size
		}
	}
	r.keys = grow(r.keys, at)
}

// levelBits are those of a key that hold the level of its item, behind the row.
const levelBits = 7

// holdsLevels reports whether the keys of so many rows have room for levels.
func (r *Ranker) holdsLevels(rows int) bool {
	most := r.most
	if most == 0 {
		most = 1 << (32 - levelBits)
	}
	return rows <= most
}

// collect brings the keys of the items in marked buckets together, by bucket and row.
func (r *Ranker) collect(near []uint64, scores []float32, levels []byte) {
	r.packed = r.holdsLevels(len(scores))
	for _, x := range near {
		row := uint32(x)
		level := levels[row]
		if level == Absent {
			continue
		}
		at := r.count[x>>32]
		r.count[x>>32] = at + 1
		low := row
		if r.packed {
			low = row<<levelBits | uint32(level)
		}
		r.keys[at] = ranksort.Key(scores[row], low)
	}
}

// emit sorts a block and appends its positives, with what is tied with them.
func (r *Ranker) emit(b block, levels []byte) {
	keys, items, packed := r.sorted(r.keys[b.lo:b.hi]), r.items, r.packed
	level := func(key uint64) byte {
		if packed {
			return byte(key) & (1<<levelBits - 1)
		}
		return levels[uint32(key)]
	}
	for first := 0; first < len(keys); {
		end, any := first+1, level(keys[first])
		for end < len(keys) && keys[end]>>32 == keys[first]>>32 {
			any |= level(keys[end])
			end++
		}
		for i := first; i < end && any > 0; i++ {
			item := metric.Item{Place: int32(b.place + i), Shared: level(keys[i])}
			if i > first {
				item.Shared |= metric.Tied
			}
			items = append(items, item)
		}
		first = end
	}
	r.items = items
}

// sorted sorts the keys of a block. A radix sort of few would mostly clear its counts.
func (r *Ranker) sorted(keys []uint64) []uint64 {
	const few, many = 48, 1024
	switch {
	case len(keys) > many:
		r.spare = grow(r.spare, len(keys))
		return ranksort.Sort(keys, r.spare)
	case len(keys) > few:
		slices.Sort(keys)
		return keys
	}
	for i := 1; i < len(keys); i++ {
		k, at := keys[i], i
		for ; at > 0 && keys[at-1] > k; at-- {
			keys[at] = keys[at-1]
		}
		keys[at] = k
	}
	return keys
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
