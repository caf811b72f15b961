package cpu

import (
	"fmt"

	"hgld/internal/vec"
	"hgld/train/device"
)

// Act computes dst = f(x) element by element. dst may be x.
func (b *Backend) Act(dst, x device.Array, f device.Func) {
	l := linesOf("Act", dst, x)
	split(b, l.count, l.grain(), actTask{dst, x, f, l})
}

// ActGrad computes dx = dy·f′(x). dx may be dy. For ReLU, x may also be the result of Act,
// because it is positive at the same elements.
func (b *Backend) ActGrad(dx, dy, x device.Array, f device.Func) {
	l := linesOf("ActGrad", dx, dy, x)
	split(b, l.count, l.grain(), actGradTask{dx, dy, x, f, l})
}

type actTask struct {
	dst, x device.Array
	f      device.Func
	l      lines
}

func (t *actTask) span(_, lo, hi int) {
	dst, x := f32(t.dst), f32(t.x)
	for i := lo; i < hi; i++ {
		activate(t.l.of(dst, &t.dst, i), t.l.of(x, &t.x, i), t.f)
	}
}

type actGradTask struct {
	dx, dy, x device.Array
	f         device.Func
	l         lines
}

func (t *actGradTask) span(_, lo, hi int) {
	dx, dy, x := f32(t.dx), f32(t.dy), f32(t.x)
	for i := lo; i < hi; i++ {
		slope(t.l.of(dx, &t.dx, i), t.l.of(dy, &t.dy, i), t.l.of(x, &t.x, i), t.f)
	}
}

func activate(dst, x []float32, f device.Func) {
	dst = dst[:len(x)]
	switch f {
	case device.Identity:
		copy(dst, x)
	case device.ReLU:
		vec.ReLU(dst, x)
	case device.GELU:
		vec.GELU(dst, x)
	case device.GELUTanh:
		vec.Gate(dst, x, tanhScale, tanhScale*tanhCube)
	case device.QuickGELU:
		vec.Gate(dst, x, quick, 0)
	default:
		panic(fmt.Sprintf("cpu: unknown activation %d", f))
	}
}

func slope(dx, dy, x []float32, f device.Func) {
	dx, dy = dx[:len(x)], dy[:len(x)]
	switch f {
	case device.Identity:
		copy(dx, dy)
	case device.ReLU:
		vec.Mask(dx, dy, x)
	case device.GELU:
		vec.GELUGrad(dx, dy, x)
	case device.GELUTanh:
		vec.GateGrad(dx, dy, x, tanhScale, tanhScale*tanhCube)
	case device.QuickGELU:
		vec.GateGrad(dx, dy, x, quick, 0)
	default:
		panic(fmt.Sprintf("cpu: unknown activation %d", f))
	}
}

// Constants of the approximations of GELU (Hendrycks and Gimpel, arXiv
// 1606.08415) as x·σ(u): ½(1 + tanh v) is σ(2v), which keeps the small values of a
// negative x exact.
const (
	quick     = 1.702
	tanhScale = 2 * 0.79788456080286535588 // 2√(2/π)
	tanhCube  = 0.044715
)
