package cuda

import "hgld/train/device"

// span is HG_SPAN of columns.h: the number of matrix rows that one block adds up.
const span = 256

// columnBlocks returns the number of blocks and of spans for a kernel that sums columns.
func columnBlocks(rows, width int) (grid, spans int) {
	spans = blocks(rows, span)
	return spans * blocks(width, 32), spans
}

// join adds the partial sums of n numbers to dst: dst = acc·dst + the sum of count parts,
// stride apart. dst may be absent.
func (b *Backend) join(op string, dst device.Array, acc float32, parts Address, stride, count, n int) {
	if dst.Absent() {
		return
	}
	b.op(op).ptr(f32(dst)).f32(acc).addr(parts).i64(stride).i64(count).i64(n).
		run("join", "join_f32", blocks(n, 32), 256, 0)
}
