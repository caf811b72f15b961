package cuda

import "hgld/train/device"

// Ranks writes the place of each item among the items with sh ≥ least.
func (b *Backend) Ranks(rank, s, sh device.Array, least uint8) {
	if !device.AreMatrices(sh, rank, s) {
		panic(shapes("Ranks", rank, s, sh))
	}
	x := b.newSorting("Ranks", sh.Dims[0], sh.Dims[1])
	for lo := 0; lo < sh.Dims[0]; lo += x.queries {
		hi := min(lo+x.queries, sh.Dims[0])
		x.byScore(s.RowRange(lo, hi), sh.RowRange(lo, hi), device.Array{}, 0, least)
		x.places(rank.RowRange(lo, hi), 1)
	}
}

// places writes the items' places, counted from base, and 0 for items that are excluded.
func (x *sorting) places(rank device.Array, base int) {
	q := rank.Dims[0]
	x.b.op(x.op).ptr(f32(rank)).addr(x.number).addr(x.keys).addr(x.rows).
		i64(q).i64(x.items).i64(rank.Ld).i32(base).
		run("ranked", "ranked_places", blocks(q*x.items, 256), 256, 0)
}

// Ranked writes the levels of the first n items, sorted by falling score and then by row. It
// also writes their rows if order is given. It sorts the whole row for any n.
func (b *Backend) Ranked(shared, order, s, sh device.Array) {
	if !device.AreMatrices(sh, s) || !device.AreMatrices(shared, order) || shared.Dims[0] != sh.Dims[0] {
		panic(shapes("Ranked", shared, order, s, sh))
	}
	n := shared.Dims[1]
	x := b.newSorting("Ranked", sh.Dims[0], sh.Dims[1])
	for lo := 0; lo < sh.Dims[0]; lo += x.queries {
		hi := min(lo+x.queries, sh.Dims[0])
		levels, rows := sh.RowRange(lo, hi), order
		if !order.Absent() {
			rows = order.RowRange(lo, hi)
		}
		x.byScore(s.RowRange(lo, hi), levels, device.Array{}, 0, 0)
		b.op("Ranked").ptr(u8(shared.RowRange(lo, hi))).ptr(i32(rows)).addr(x.keys).addr(x.rows).ptr(levels).
			i64(hi-lo).i64(x.items).i64(n).i64(shared.Ld).i64(order.Ld).i64(sh.Ld).
			run("ranked", "ranked_first", blocks((hi-lo)*n, 256), 256, 0)
	}
}
