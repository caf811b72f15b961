package cuda

import "hgld/train/device"

// span is HG_SPAN of columns.h: the number of matrix rows that one block adds up.
const span = 256

// partsRun is the number of parts that a block joins where there are more than partsMost.
const (
	partsRun  = 64
	partsMost = 256
)

// columnBlocks returns the number of blocks and of spans for a kernel that sums columns.
func columnBlocks(rows, width int) (grid, spans int) {
	spans = blocks(rows, span)
	return spans * blocks(width, 32), spans
}

// join adds the partial sums of n numbers to dst: dst = acc·dst + the sum of count parts,
// stride apart, which it may overwrite. dst may be absent.
func (b *Backend) join(op string, dst device.Array, acc float32, parts Address, stride, count, n int) {
	if dst.Absent() {
		return
	}
	stride, count = b.joinRuns(op, parts, stride, count, n)
	b.op(op).ptr(f32(dst)).f32(acc).addr(parts).i64(stride).i64(count).i64(max(count, 1)).i64(n).
		run("join", "join_f32", blocks(n, 32), 256, 0)
}

// joinRuns adds up runs of the parts, where these are, until a block of join_f32 can join the rest. It
// returns the distance and the number of what is left.
func (b *Backend) joinRuns(op string, parts Address, stride, count, n int) (distance, left int) {
	for count > partsMost {
		runs := blocks(count, partsRun)
		b.op(op).addr(0).f32(0).addr(parts).i64(stride).i64(count).i64(partsRun).i64(n).
			run("join", "join_f32", runs*blocks(n, 32), 256, 0)
		stride, count = stride*partsRun, runs
	}
	return stride, count
}
