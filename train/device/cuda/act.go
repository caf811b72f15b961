package cuda

import (
	"fmt"

	"hgld/train/device"
)

// Act computes dst = f(x).
func (b *Backend) Act(dst, x device.Array, f device.Func) {
	l := linesOf("Act", dst, x)
	b.op("Act").active(dst).i64(stride(dst)).active(x).i64(stride(x)).i64(l.rows).i64(l.width).i32(known(f)).
		run("act", "act", l.blocks(), 256, 0)
}

// ActGrad computes dx = dy·f′(x). For ReLU, x may also be the result of Act.
func (b *Backend) ActGrad(dx, dy, x device.Array, f device.Func) {
	l := linesOf("ActGrad", dx, dy, x)
	b.op("ActGrad").active(dx).i64(stride(dx)).active(dy).i64(stride(dy)).active(x).i64(stride(x)).
		i64(l.rows).i64(l.width).i32(known(f)).run("act", "act_grad", l.blocks(), 256, 0)
}

// known returns the number of an activation that act.h knows.
func known(f device.Func) int {
	if f > device.QuickGELU {
		panic(fmt.Sprintf("cuda: unknown activation %d", f))
	}
	return int(f)
}
