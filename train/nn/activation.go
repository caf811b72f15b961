package nn

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// GELU is x·Φ(x), where Φ is the normal distribution function (Hendrycks and Gimpel, arXiv
// 1606.08415): the activation of ViT, DeiT and BERT.
//
// The gradient reads x, so the result need not be held.
func GELU(t *grad.Tape, x *grad.Var) *grad.Var { return activate(t, x, device.GELU) }

func activate(t *grad.Tape, x *grad.Var, f device.Func) *grad.Var {
	y := t.New(x.Value.Type, x.Value.Shape()...)
	apply := func(b device.Backend) { b.Act(y.Value, x.Value, f) }
	t.Remake(y, apply, x)
	t.Do(apply)
	t.Back(func(b device.Backend) {
		if dx := t.Into(x); !dx.Absent() {
			b.ActGrad(dx, t.Grad(y), x.Value, f)
		}
	}, x)
	return y
}

// Activation returns a layer that applies f to each element. The gradient reads x.
func Activation(f device.Func) Layer {
	return func(t *grad.Tape, x *grad.Var) *grad.Var { return activate(t, x, f) }
}

// Add records x + y. Both have the same shape.
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
