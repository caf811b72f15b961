package cuda

import (
	"fmt"

	"hgld/train/device"
)

// Act computes dst = f(x).
func (b *Backend) Act(dst, x device.Array, f device.Func) { b.act("Act", dst, device.Array{}, x, f) }

// ActSlope computes slope = f′(x), and dst = f(x) unless dst is absent. dst may be x.
func (b *Backend) ActSlope(dst, slope, x device.Array, f device.Func) {
	b.act("ActSlope", dst, slope, x, f)
}

func (b *Backend) act(op string, dst, slope, x device.Array, f device.Func) {
	l := linesOf(op, x, dst, slope)
	if b.tabled(l, f, dst, slope, x) {
		b.op(op).active(dst).active(slope).active(x).i64(l.width).i32(known(f)).
			run("act", "act_table", tableBlocks, 256, 0)
		return
	}
	for _, to := range []struct {
		array  device.Array
		kernel string
	}{{slope, "act_slope"}, {dst, "act"}} {
		if !to.array.Absent() {
			b.op(op).active(to.array).i64(stride(to.array)).active(x).i64(stride(x)).i64(l.rows).i64(l.width).i32(known(f)).
				run("act", to.kernel, l.blocks(), 256, 0)
		}
	}
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
		if !a.Absent() && a.Type != device.BF16 || c.address(a)%16 != 0 {
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
