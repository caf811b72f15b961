package nn

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// ReLU is max(x, 0), with gradient 0 at 0.
func ReLU(t *grad.Tape, x *grad.Var) *grad.Var {
	y := t.New(x.Value.Type, x.Value.Shape()...)
	t.Do(func(b device.Backend) { b.Act(y.Value, x.Value, device.ReLU) })
	t.Back(func(b device.Backend) {
		if dx := t.Into(x); !dx.Absent() {
			b.ActGrad(dx, t.Grad(y), y.Value, device.ReLU)
		}
	}, y) // y is positive where x is, and held for the next layer anyway
	return y
}

// Add is x + y, of one shape.
func Add(t *grad.Tape, x, y *grad.Var) *grad.Var {
	z := t.New(x.Value.Type, x.Value.Shape()...)
	t.Do(func(b device.Backend) { b.Axpby(z.Value, 1, x.Value, 1, y.Value) })
	t.Back(func(b device.Backend) {
		for _, v := range []*grad.Var{x, y} {
			if dv := t.Into(v); !dv.Absent() {
				b.Copy(dv, t.Grad(z))
			}
		}
	})
	return z
}
