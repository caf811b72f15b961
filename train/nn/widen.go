package nn

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// Widen converts activations to F32. The gradient is rounded to the type of x. If x is F32, it
// returns x itself.
func Widen(t *grad.Tape, x *grad.Var) *grad.Var { return convert(t, x, device.F32) }

// convert converts x, and its gradient back. If x already has the type, it returns x itself.
func convert(t *grad.Tape, x *grad.Var, to device.DType) *grad.Var {
	if x.Value.Type == to {
		return x
	}
	y := t.New(to, x.Value.Shape()...)
	t.Do(func(b device.Backend) { b.Copy(y.Value, x.Value) })
	t.Back(func(b device.Backend) {
		if dx := t.Into(x); !dx.Absent() {
			b.Copy(dx, t.Grad(y))
		}
	})
	return y
}
