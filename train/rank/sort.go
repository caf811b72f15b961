package rank

import (
	"math/bits"

	"hgld/train/device"
)

const (
	// partKeys is the mean number of items in a part of sortMost. The keys of a part and the
	// memory for sorting them stay in the L1 cache.
	partKeys = 512

	// mostParts bounds the number of parts, to which keys are written in turn.
	mostParts = 2048

	// mostFine bounds the number of buckets, and so of keys, of orderEvenly.
	mostFine = 4096
)

// sortMost sorts all items, split into parts by ranges of scores.
func (r *Ranker) sortMost(scores []float32, levels []byte, positives, absent []int32) {
	parts := min(max(1<<bits.Len(uint(len(scores)/partKeys)), 16), mostParts)
	c := bucketsOf(scores, positives, parts)
	count := r.count[:parts]
	clear(count)
	for lo := 0; lo < len(scores); lo += len(r.bucket) {
		part := scores[lo:min(lo+len(r.bucket), len(scores))]
		c.Of(r.bucket[:], part)
		for _, b := range r.bucket[:len(part)] {
			r.count[b&(most-1)]++
		}
	}
	for _, row := range absent {
		count[c.One(scores[row])]--
	}
	r.keys = grow(r.keys, len(scores)-len(absent))
	at := uint32(0)
	for b, n := range count {
		count[b] = at
		at += n
	}
	for lo := 0; lo < len(scores); lo += len(r.bucket) {
		part := scores[lo:min(lo+len(r.bucket), len(scores))]
		c.Of(r.bucket[:], part)
		for i, b := range r.bucket[:len(part)] {
			row := lo + i
			if levels[row] == device.AbsentLevel {
				continue
			}
			at := count[b]
			count[b] = at + 1
			r.keys[at] = r.key(part[i], uint32(row), levels[row])
		}
	}
	lo := 0
	for _, hi := range count { // now the start of the next part
		if keys := r.keys[lo:hi]; len(keys) > 0 {
			r.emit(r.order(keys), lo, nil, levels)
		}
		lo = int(hi)
	}
}

// order sorts keys. It returns them in place or in spare.
func (r *Ranker) order(keys []uint64) []uint64 {
	switch {
	case len(keys) <= few:
		insert(keys)
	case len(keys) > mostFine || !r.orderEvenly(keys):
		r.sort(keys)
	default:
		return r.spare[:len(keys)]
	}
	return keys
}

// orderEvenly sorts keys of evenly distributed scores into spare, by buckets and then by
// insertion. It returns false if the scores are not distributed evenly enough.
func (r *Ranker) orderEvenly(keys []uint64) bool {
	least, greatest := keys[0]>>32, keys[0]>>32
	for _, k := range keys {
		least, greatest = min(least, k>>32), max(greatest, k>>32)
	}
	buckets := 1 << bits.Len(uint(len(keys)-1))
	factor := uint64(buckets) << 32 / (greatest - least + 1) // so that the greatest is below buckets
	if r.fine == nil {
		r.fine = new([mostFine]uint32)
	}
	fine := r.fine
	clear(fine[:buckets])
	for _, k := range keys {
		fine[(k>>32-least)*factor>>32&(mostFine-1)]++
	}
	at, full := uint32(0), uint32(0)
	for b, n := range fine[:buckets] {
		fine[b] = at
		at += n
		full = max(full, n)
	}
	if full > few {
		return false
	}
	r.spare = grow(r.spare, mostFine)
	for _, k := range keys {
		b := (k>>32 - least) * factor >> 32 & (mostFine - 1)
		r.spare[fine[b]&(mostFine-1)] = k
		fine[b]++
	}
	insert(r.spare[:len(keys)])
	return true
}
