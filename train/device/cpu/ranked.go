package cpu

import (
	"hgld/internal/ranksort"
	"hgld/train/device"
)

// Ranks writes the place of each item among the items with sh ≥ least.
func (b *Backend) Ranks(rank, s, sh device.Array, least uint8) {
	if !device.AreMatrices(sh, rank, s) {
		panic(shapes("Ranks", rank, s, sh))
	}
	t := ranksTask{rank: rank, s: s, sh: sh, least: least}
	t.keys = scratch[uint64](b, "ranks", b.Threads()*2*sh.Cols())
	split(b, sh.Rows(), 1, t)
}

type ranksTask struct {
	rank, s, sh device.Array
	least       uint8
	keys        []uint64
}

func (t *ranksTask) span(worker, lo, hi int) {
	g := t.sh.Cols()
	keys, spare := t.keys[worker*2*g:][:g], t.keys[worker*2*g+g:][:g]
	for q := lo; q < hi; q++ {
		rank, s := row(f32(t.rank), t.rank, q), row(f32(t.s), t.s, q)
		n := 0
		for i, l := range row(u8(t.sh), t.sh, q) {
			if l >= t.least && l != device.AbsentLevel {
				keys[n] = ranksort.Key(s[i], uint32(i))
				n++
			}
		}
		clear(rank)
		for place, k := range ranksort.Sort(keys[:n], spare[:n]) {
			rank[uint32(k)] = float32(place + 1)
		}
	}
}

// Ranked writes the levels of the first n items, sorted by falling score and then by row. It
// also writes their rows if order is given.
func (b *Backend) Ranked(shared, order, s, sh device.Array) {
	if !device.AreMatrices(sh, s) || !device.AreMatrices(shared, order) || shared.Dims[0] != sh.Dims[0] {
		panic(shapes("Ranked", shared, order, s, sh))
	}
	t := rankedTask{shared: shared, order: order, s: s, sh: sh}
	t.keys = scratch[uint64](b, "ranked", b.Threads()*2*sh.Cols())
	split(b, sh.Rows(), 1, t)
}

type rankedTask struct {
	shared, order, s, sh device.Array
	keys                 []uint64
}

// tied marks an item whose score equals that of the item before.
const tied = 0x80

func (t *rankedTask) span(worker, lo, hi int) {
	g := t.sh.Cols()
	keys, spare := t.keys[worker*2*g:][:g], t.keys[worker*2*g+g:][:g]
	for q := lo; q < hi; q++ {
		shared, sh := row(u8(t.shared), t.shared, q), row(u8(t.sh), t.sh, q)
		first := firstKeys(keys, spare, row(f32(t.s), t.s, q), sh, len(shared))
		for i, k := range first {
			shared[i] = sh[uint32(k)]
			if i > 0 && k>>32 == first[i-1]>>32 {
				shared[i] |= tied
			}
		}
		for i := len(first); i < len(shared); i++ {
			shared[i] = device.AbsentLevel
		}
		if t.order.Absent() {
			continue
		}
		order := row(i32(t.order), t.order, q)
		for i, k := range first {
			order[i] = int32(uint32(k))
		}
		for i := len(first); i < len(order); i++ {
			order[i] = -1
		}
	}
}

// firstKeys returns the keys of the first n items with their rows as payload. It omits absent
// items. If n is a small part of the row, it only sorts the candidates. These are the items
// down to the bucket that contains the n-th score, where a bucket is sign, exponent and three
// bits of the mantissa.
func firstKeys(keys, spare []uint64, s []float32, sh []uint8, n int) []uint64 {
	m := 0
	for i, l := range sh {
		if l != device.AbsentLevel {
			keys[m] = ranksort.Key(s[i], uint32(i))
			m++
		}
	}
	keys = keys[:m]
	if n < m/4 {
		keys = leastKeys(keys, n)
	}
	keys = ranksort.Sort(keys, spare[:len(keys)])
	return keys[:min(n, len(keys))]
}

// leastKeys moves all keys that are not greater than the n-th in their upper 12 bits to the
// front. It keeps their order and returns them.
func leastKeys(keys []uint64, n int) []uint64 {
	const shift = 64 - 12
	var count [1 << 12]int32
	for _, k := range keys {
		count[k>>shift]++
	}
	bucket, seen := uint64(0), 0
	for seen += int(count[0]); seen < n; seen += int(count[bucket]) {
		bucket++
	}
	m := 0
	for _, k := range keys {
		if k>>shift <= bucket {
			keys[m] = k
			m++
		}
	}
	return keys[:m]
}
