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

// GELU is x·Φ(x), Φ being the normal distribution (Hendrycks and Gimpel, arXiv
// 1606.08415): the activation of ViT, DeiT and BERT.
func GELU(t *grad.Tape, x *grad.Var) *grad.Var { return act(t, x, device.GELU) }

// GELUTanh is its approximation ½x(1 + tanh(√(2/π)(x + 0.044715x³))).
func GELUTanh(t *grad.Tape, x *grad.Var) *grad.Var { return act(t, x, device.GELUTanh) }

// QuickGELU is x·σ(1.702x), OpenAI's in CLIP.
func QuickGELU(t *grad.Tape, x *grad.Var) *grad.Var { return act(t, x, device.QuickGELU) }

// act is f(x), of which the gradient reads x; so f(x) need not be held.
func act(t *grad.Tape, x *grad.Var, f device.Func) *grad.Var {
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
