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

// ActSlope computes slope = f′(x), and dst = f(x) unless dst is absent. dst may be x.
func (b *Backend) ActSlope(dst, to, x device.Array, f device.Func) {
	l := linesOf("ActSlope", to, x, dst)
	split(b, l.count, l.grain(), slopeTask{dst, to, x, f, l})
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

type slopeTask struct {
	dst, to, x device.Array
	f          device.Func
	l          lines
}

func (t *slopeTask) span(_, lo, hi int) {
	dst, to, x := f32(t.dst), f32(t.to), f32(t.x)
	for i := lo; i < hi; i++ {
		from := t.l.of(x, &t.x, i)
		slope(t.l.of(to, &t.to, i), from, t.f)
		if dst != nil {
			activate(t.l.of(dst, &t.dst, i), from, t.f)
		}
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

func slope(to, x []float32, f device.Func) {
	to = to[:len(x)]
	for i := range to {
		to[i] = 1
	}
	switch f {
	case device.Identity:
	case device.ReLU:
		vec.Mask(to, to, x)
	case device.GELU:
		vec.GELUGrad(to, to, x)
	case device.GELUTanh:
		vec.GateGrad(to, to, x, tanhScale, tanhScale*tanhCube)
	case device.QuickGELU:
		vec.GateGrad(to, to, x, quick, 0)
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
