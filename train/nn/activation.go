package nn

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// GELU is x·Φ(x), where Φ is the normal distribution function (Hendrycks and Gimpel, arXiv
// 1606.08415): the activation of ViT, DeiT and BERT.
//
// The gradient reads its slope alone, so neither x nor the result need be held.
func GELU(t *grad.Tape, x *grad.Var) *grad.Var {
	y, slope := activate(t, x, device.GELU)
	t.Back(func(b device.Backend) {
		if dx := t.Into(x); !dx.Absent() {
			b.Scale(dx, t.Grad(y), slope.Value)
		}
	}, slope)
	return y
}

// activate records f(x). Its slope is for the Back of the caller, from the gradient of the result to that of x; it is
// nil in a pass without. The result can be computed again from x.
func activate(t *grad.Tape, x *grad.Var, f device.Func) (y, slope *grad.Var) {
	y = t.New(x.Value.Type, x.Value.Shape()...)
	t.Remake(y, func(b device.Backend) { b.Act(y.Value, x.Value, f) }, x)
	slope, now := t.Beside(func(b device.Backend, v device.Array) { b.ActSlope(device.Array{}, v, x.Value, f) },
		[]*grad.Var{x}, x.Value.Type, x.Value.Shape()...)
	t.Do(func(b device.Backend) {
		if now {
			b.ActSlope(y.Value, slope.Value, x.Value, f)
		} else {
			b.Act(y.Value, x.Value, f)
		}
	})
	return y, slope
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
