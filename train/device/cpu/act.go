package cpu

import (
	"fmt"
	"math"

	"hgld/train/device"
)

// Act is dst = f(x), element by element. dst may be x.
func (b *Backend) Act(dst, x device.Array, f device.Func) {
	l := linesOf("Act", dst, x)
	split(b, l.count, l.grain(), actTask{dst, x, f, l})
}

// ActGrad is dx = dy·f′(x). dx may be dy. For ReLU x may be the result of Act
// too: both are positive at the same places.
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
		for i, v := range x {
			dst[i] = max(v, 0)
		}
	case device.GELU:
		for i, v := range x {
			dst[i] = float32(float64(v) * normalCDF(float64(v)))
		}
	case device.GELUTanh:
		for i, v := range x {
			dst[i] = float32(float64(v) * tanhGate(float64(v)))
		}
	case device.QuickGELU:
		for i, v := range x {
			dst[i] = float32(float64(v) * logistic(quick*float64(v)))
		}
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
		for i, v := range x {
			dx[i] = where(v, dy[i])
		}
	case device.GELU:
		for i, v := range x {
			x := float64(v)
			density := math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
			dx[i] = float32(float64(dy[i]) * (normalCDF(x) + x*density))
		}
	case device.GELUTanh:
		for i, v := range x {
			x := float64(v)
			g := tanhGate(x) // slope of the gate: 2g(1−g)·u′, u the argument of tanh
			dx[i] = float32(float64(dy[i]) * (g + x*2*g*(1-g)*tanhScale*(1+3*tanhCube*x*x)))
		}
	case device.QuickGELU:
		for i, v := range x {
			s := logistic(quick * float64(v))
			dx[i] = float32(float64(dy[i]) * (s + quick*float64(v)*s*(1-s)))
		}
	default:
		panic(fmt.Sprintf("cpu: unknown activation %d", f))
	}
}

// where is d where v is positive and 0 elsewhere, without a branch: half of the
// values are positive in no order that a processor could predict.
func where(v, d float32) float32 {
	bits := int32(math.Float32bits(v))
	mask := uint32(-bits>>31) &^ uint32(bits>>31) // bits > 0
	return math.Float32frombits(math.Float32bits(d) & mask)
}

// Constants of the approximations of GELU (Hendrycks and Gimpel, arXiv
// 1606.08415).
const (
	quick     = 1.702
	tanhScale = 0.79788456080286535588 // √(2/π)
	tanhCube  = 0.044715
)

func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// tanhGate is ½(1 + tanh u), u = √(2/π)(x + 0.044715 x³), as a logistic function
// of 2u, which keeps the small values of a negative x exact.
func tanhGate(x float64) float64 { return logistic(2 * tanhScale * (x + tanhCube*x*x*x)) }

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
