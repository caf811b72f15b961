package cuda

import "hgld/train/device"

// rankGroup is the number of positives that a block of RankLoss processes at a time.
// rankBlocks is the number of blocks of its first kernel if there are enough positives:
// several rounds on the largest card. A block without positives ends at once.
const (
	rankGroup  = 32
	rankBlocks = 16384
)

// slots returns the number of blocks of group elements per query, for up to items elements.
// Only the card knows the number of positives.
func slots(queries, items, group int) int {
	return max(1, min(blocks(items, group), rankBlocks/max(queries, 1)))
}

// pick writes the positives of each query, items with a level from 1 to top. index [Q,G]
// receives them in row order, and number [Q] their count, both I32.
func (b *Backend) pick(op string, index, number Address, sh device.Array, top int) {
	b.op(op).addr(index).addr(number).ptr(u8(sh)).i64(sh.Dims[1]).i64(sh.Ld).i32(top).
		run("pick", "pick_positives", sh.Dims[0], 256, 0)
}

// RankLoss computes ranks, score and gradient from pairs of an item and a positive. It takes
// O(P·G) time per query and 20 bytes of scratch memory per score. If only the loss is needed,
// ds may be absent.
func (b *Backend) RankLoss(loss, ds, s, sh, rel, cnt device.Array, h *device.Steps, o *device.Score) {
	checkRank("RankLoss", sh, rel, s, ds)
	score, fits := newScore(o)
	if !fits || loss.Len() != sh.Rows() || cnt.Dims != rel.Dims {
		panic(shapes("RankLoss", loss, ds, s, sh, rel, cnt))
	}
	const op = "RankLoss"
	q, g, top, steps := sh.Dims[0], sh.Dims[1], rel.Cols()-1, newSteps(h)
	n := 4 * q * g
	areas := b.scratch(op, 4*q, n, n, n, n, n)
	number, index, rank, plus, srank, splus := areas[0], areas[1], areas[2], areas[3], areas[4], areas[5]
	b.pick(op, index, number, sh, top)
	most := slots(q, g, rankGroup)
	c := b.op(op).addr(rank).addr(plus).addr(srank).addr(splus).addr(index).addr(number).
		ptr(f32(s)).ptr(sh).ptr(f32(rel)).i64(g).i64(s.Ld).i64(sh.Ld).i64(rel.Ld).i32(top).i32(most)
	structure(c, &steps).run("rankloss", "rankloss_ranks", q*most, 256, 0)
	c = b.op(op).ptr(f32(loss)).addr(rank).addr(plus).addr(srank).addr(splus).addr(index).addr(number).
		ptr(sh).ptr(rel).ptr(i32(cnt)).i64(g).i64(sh.Ld).i64(rel.Ld).i64(cnt.Ld).i32(top)
	structure(c, &score).run("rankloss", "rankloss_score", q, rowThreads(g), 0)
	if ds.Absent() {
		return
	}
	c = b.op(op).ptr(f32(ds)).addr(rank).addr(plus).addr(srank).addr(index).addr(number).
		ptr(s).ptr(sh).ptr(rel).i64(g).i64(ds.Ld).i64(s.Ld).i64(sh.Ld).i64(rel.Ld).i32(top)
	structure(c, &steps).run("rankloss", "rankloss_grad", q*blocks(g, 256), 256, 0)
}
