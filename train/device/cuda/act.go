package cuda

import (
	"fmt"

	"hgld/train/device"
)

// Act computes dst = f(x).
func (b *Backend) Act(dst, x device.Array, f device.Func) {
	l := linesOf("Act", dst, x)
	if b.tabled(l, f, dst, x) {
		b.op("Act").active(dst).active(x).i64(l.width).i32(known(f)).run("act", "act_table", tableBlocks, 256, 0)
		return
	}
	b.op("Act").active(dst).i64(stride(dst)).active(x).i64(stride(x)).i64(l.rows).i64(l.width).i32(known(f)).
		run("act", "act", l.blocks(), 256, 0)
}

// ActGrad computes dx = dy·f′(x). For ReLU, x may also be the result of Act.
func (b *Backend) ActGrad(dx, dy, x device.Array, f device.Func) {
	l := linesOf("ActGrad", dx, dy, x)
	if b.tabled(l, f, dx, dy, x) {
		b.op("ActGrad").active(dx).active(dy).active(x).i64(l.width).i32(known(f)).
			run("act", "act_grad_table", tableBlocks, 256, 0)
		return
	}
	b.op("ActGrad").active(dx).i64(stride(dx)).active(dy).i64(stride(dy)).active(x).i64(stride(x)).
		i64(l.rows).i64(l.width).i32(known(f)).run("act", "act_grad", l.blocks(), 256, 0)
}

const (
	// leastTabled is the number of elements from which a table saves more than the 4,864 entries of each
	// block take.
	leastTabled = 1 << 22

	tableBlocks = 2 * wantedBlocks
)

// tabled reports whether an activation of arrays is looked up in a table.
func (b *Backend) tabled(l lines, f device.Func, arrays ...device.Array) bool {
	if l.rows != 1 || l.width < leastTabled || f == device.Identity || f == device.ReLU {
		return false
	}
	c := b.op("Act")
	for _, a := range arrays {
		if a.Type != device.BF16 || c.address(a)%16 != 0 {
			return false
		}
	}
	return true
}

// known returns the number of an activation that act.h knows.
func known(f device.Func) int {
	if f > device.QuickGELU {
		panic(fmt.Sprintf("cuda: unknown activation %d", f))
	}
	return int(f)
}
