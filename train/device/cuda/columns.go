package cuda

import "hgld/train/device"

// span is HG_SPAN of columns.h: the number of matrix rows that one block adds up.
const span = 256

// partsRun is the number of parts that a block joins where there are more than partsMost.
const (
	partsRun  = 64
	partsMost = 256
)

// columns is how a kernel sums the columns of a matrix: see columns.h.
type columns struct {
	lanes int // threads side by side, of which each has 16 bytes of a row; 0: 32 with a column each
	grid  int // blocks
	spans int // of rows
}

// columnsOf returns how a kernel sums the columns of arrays of rows and width. Other vectors that it
// reads by column are in more. A block has the most lanes that leave few of them idle, and fewer, down to a row's 64
// bytes, where there would be few blocks.
func (c *call) columnsOf(rows, width int, a device.Array, more ...device.Array) columns {
	wide, each := c.byRun(a, more...)
	k := columns{spans: blocks(rows, span)}
	if !wide {
		k.grid = k.spans * blocks(width, 32)
		return k
	}
	runs := width / each
	for k.lanes = 32; k.lanes > 1 && 8*blocks(runs, k.lanes)*k.lanes > 9*runs; {
		k.lanes /= 2
	}
	for k.lanes > 4 && k.spans*blocks(runs, k.lanes) < wantedBlocks {
		k.lanes /= 2
	}
	k.grid = k.spans * blocks(runs, k.lanes)
	return k
}

// byRun is byChannel for arrays with strides.
func (c *call) byRun(a device.Array, more ...device.Array) (wide bool, each int) {
	wide, each = c.byChannel(a, more...)
	for _, m := range append(more, a) {
		wide = wide && (m.Absent() || m.N < 2 || stride(m)%each == 0)
	}
	return wide, each
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

// joinBoth joins the sums of two vectors of n numbers, of which each part has both. One launch does it where the
// vectors lie side by side, as the gradients of γ and β do.
func (b *Backend) joinBoth(op string, one, two device.Array, acc float32, parts Address, count, n int) {
	apart, count := b.joinRuns(op, parts, 2*n, count, 2*n)
	if one.Buf == two.Buf && two.Off == one.Off+n {
		b.join(op, one, acc, parts, apart, count, 2*n)
		return
	}
	b.join(op, one, acc, parts, apart, count, n)
	b.join(op, two, acc, parts+Address(8*n), apart, count, n)
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
