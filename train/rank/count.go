package rank

import (
	"slices"

	"hgld/internal/ranksort"
	"hgld/internal/vec"
	"hgld/train/device"
)

// marked is the bit of a count that is set if its bucket holds a positive.
const marked = 1 << 31

// countMost counts the items of each bucket, and sorts only the items of buckets with a positive.
func (r *Ranker) countMost(buckets int, scores []float32, levels []byte, positives, absent []int32) {
	c := bucketsOf(scores, positives, buckets)
	clear(r.count[:buckets])
	for _, row := range positives {
		r.count[c.One(scores[row])] = marked
	}
	near := r.countAll(&c, scores)
	for _, row := range absent {
		r.count[c.One(scores[row])]--
	}
	n := r.placeMarked(buckets, len(near))
	r.collect(near, scores, levels)
	for _, l := range r.large {
		r.sort(r.keys[l.lo:l.hi])
	}
	insert(r.keys[:n])
	r.emit(r.keys[:n], 0, r.passed, levels)
}

// countAll counts the items of each bucket, and lists the items of marked buckets.
func (r *Ranker) countAll(c *vec.Buckets, scores []float32) []uint64 {
	r.near = grow(r.near, len(scores)+1) // one more, because the last store may be dropped
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

// placeMarked replaces the counts of marked buckets by their start in keys, and writes the number
// of items passed before each. It only adds up runs of unmarked buckets. It returns the number of
// keys, which is at most atMost.
func (r *Ranker) placeMarked(buckets, atMost int) int {
	r.passed = grow(r.passed, atMost+1)
	clear(r.passed)
	r.keys, r.large = grow(r.keys, atMost), r.large[:0]
	passed, at := int32(0), 0
	for b := 0; b < buckets; b += 4 {
		four := r.count[b : b+4 : b+4]
		if (four[0]|four[1]|four[2]|four[3])&marked == 0 {
			passed += int32(four[0] + four[1] + four[2] + four[3])
			continue
		}
		for i, c := range four { // the values of unmarked buckets are never read
			size := c &^ marked
			r.passed[at] = passed
			four[i] = uint32(at)
			in := uint32(int32(c) >> 31) // all bits are set for a marked bucket
			if size&in > few {
				r.large = append(r.large, span{at, at + int(size)})
			}
			at += int(size & in)
			passed += int32(size &^ in)
		}
	}
	return at
}

// collect gathers the keys of the items in marked buckets, by bucket and row.
func (r *Ranker) collect(near []uint64, scores []float32, levels []byte) {
	for _, x := range near {
		row := uint32(x)
		level := levels[row]
		if level == device.AbsentLevel {
			continue
		}
		at := r.count[x>>32]
		r.count[x>>32] = at + 1
		r.keys[at] = r.key(scores[row], row, level)
	}
}

// few is the number of keys up to which insertion sort is used. Its time grows with their square.
const few = 48

// sort sorts many keys in place.
func (r *Ranker) sort(keys []uint64) {
	const many = 1024
	if len(keys) <= many {
		slices.Sort(keys)
		return
	}
	r.spare = grow(r.spare, len(keys))
	if sorted := ranksort.Sort(keys, r.spare); &sorted[0] != &keys[0] {
		copy(keys, sorted)
	}
}

// insert sorts keys that are nearly in order. Two branch-free passes that carry the greatest key
// so far leave few out of order, because a processor cannot predict where a key belongs.
func insert(keys []uint64) {
	for range 2 {
		carry(keys)
	}
	for i := 1; i < len(keys); i++ {
		k, at := keys[i], i
		for ; at > 0 && keys[at-1] > k; at-- {
			keys[at] = keys[at-1]
		}
		keys[at] = k
	}
}

// carry is one pass of bubble sort.
func carry(keys []uint64) {
	if len(keys) == 0 {
		return
	}
	greatest := keys[0]
	for i, k := range keys[1:] {
		keys[i], greatest = min(greatest, k), max(greatest, k)
	}
	keys[len(keys)-1] = greatest
}
