package cuda

import "hgld/train/device"

// sortTile is SORT_TILE of sort.cu. sortScratch is the usual limit of a sort's scratch memory.
const (
	sortTile    = 4096
	sortScratch = 256 << 20
)

// sortBytes returns the shared memory of a block with this many threads. Each thread has
// sixteen items of two words, with every 33rd word left out, 16 digit counters and a sum.
func sortBytes(threads int) int { return threads*(16*2*4*33/32+16*2+4) + 4 }

// sorting is a sort of some queries' items. It holds keys, which rise as scores fall, and
// rows, the items' columns, [Q,G] each. Its scratch memory has space for a second copy of both
// and for the counts of tiles.
type sorting struct {
	b                    *Backend
	op                   string
	queries, items       int
	keys, rows           Address
	keys2, rows2, counts Address
	number               Address // [Q], free for the operation's use
	few                  int     // if positive, queries with number ≤ few are left out
}

// newSorting returns a sorting with memory for as many of an operation's queries as it states.
// The operation processes its queries in groups of that size.
func (b *Backend) newSorting(op string, queries, items int) sorting {
	n, tiles := 4*items, 0
	again := 0
	if items > sortTile {
		again, tiles = n, 1024*blocks(items, sortTile)
	}
	run := max(1, min(queries, b.sortScratch/(2*n+2*again+tiles+4)))
	areas := b.scratch(op, run*n, run*n, run*again, run*again, run*tiles, run*4)
	return sorting{
		b: b, op: op, queries: run, items: items,
		keys: areas[0], rows: areas[1], keys2: areas[2], rows2: areas[3], counts: areas[4], number: areas[5],
	}
}

// byScore sorts the items with sh ≥ least by score. If drank is given, it adds
// lambda·number·drank to the scores of the positives.
func (s *sorting) byScore(scores, sh, drank device.Array, lambda float32, least uint8) {
	b, q, g := s.b, sh.Dims[0], s.items
	b.op(s.op).addr(s.keys).ptr(f32(scores)).ptr(u8(sh)).ptr(f32(drank)).addr(s.number).
		i64(q).i64(g).i64(scores.Ld).i64(sh.Ld).i64(drank.Ld).f32(lambda).i32(int(least)).i32(s.few).
		run("sort", "sort_keys", q*blocks(g, 256), 256, 0)
	if g <= sortTile {
		threads := 32 * blocks(g, 32*16)
		b.op(s.op).addr(s.keys).addr(s.rows).addr(s.number).i32(g).i32(s.few).
			run("sort", "sort_small", q*min(g, 1), threads, sortBytes(threads))
		return
	}
	keys, rows, keys2, rows2 := s.keys, Address(0), s.keys2, s.rows2
	for shift := 0; shift < 32; shift += 8 {
		s.pass(keys2, rows2, keys, rows, q, shift)
		if shift == 0 {
			rows = s.rows // the first pass numbers the items
		}
		keys, rows, keys2, rows2 = keys2, rows2, keys, rows
	}
}

// pass sorts by eight bits of the keys from shift on, and keeps the order of equal ones. Without rows it
// numbers the items.
func (s *sorting) pass(keysOut, rowsOut, keys, rows Address, queries, shift int) {
	b, q, g, tiles := s.b, queries, s.items, blocks(s.items, sortTile)
	b.op(s.op).addr(s.counts).addr(keys).addr(s.number).i64(g).i64(tiles).i32(shift).i32(s.few).
		run("sort", "sort_count", q*tiles, 256, 0)
	b.op(s.op).addr(s.counts).addr(s.number).i64(tiles).i32(s.few).run("sort", "sort_sum", q, 256, 0)
	b.op(s.op).addr(keysOut).addr(rowsOut).addr(keys).addr(rows).addr(s.counts).addr(s.number).i64(g).i64(tiles).
		i32(shift).i32(s.few).run("sort", "sort_scatter", q*tiles, 256, sortBytes(256))
}
