package nn

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// LayerNorm normalises over the last axis with the biased variance,
//
//	y = γ (x − mean) / √(variance + ε) + β.
type LayerNorm struct {
	Gamma, Beta *Param  // [D], both nil for a layer without them
	Eps         float32 // added to the variance
}

// NewLayerNorm declares a layer over d numbers with γ = 1 and β = 0. A layer without them has
// nothing to declare: LayerNorm{Eps: ε}.
func NewLayerNorm(c Scope, d int, eps float32) *LayerNorm {
	return &LayerNorm{
		Gamma: c.Param("weight", Constant(1), d),
		Beta:  c.Param("bias", Constant(0), d),
		Eps:   eps,
	}
}

// Forward normalises x. The result has the shape of x.
func (l *LayerNorm) Forward(t *grad.Tape, x *grad.Var) *grad.Var {
	var gamma, beta *grad.Var
	if l.Gamma != nil {
		gamma, beta = l.Gamma.Var(t), l.Beta.Var(t)
	}
	y := t.New(x.Value.Type, x.Value.Shape()...)
	stats := t.New(device.F32, x.Value.Rows(), 2)
	normalise := func(b device.Backend) {
		b.LayerNorm(matrix(y.Value), stats.Value, matrix(x.Value), value(gamma), value(beta), l.Eps)
	}
	t.Remake(y, normalise, x, stats) // x is held anyway, for the gradient
	t.Do(normalise)
	t.Back(func(b device.Backend) {
		dx, onto := t.Onto(x)
		var add, dgamma, dbeta device.Array
		var acc float32
		if gamma != nil {
			dgamma, acc = t.Onto(gamma)
			dbeta, _ = t.Onto(beta)
		}
		switch {
		case dx.Absent():
			dx = t.Scratch(x.Value.Type, x.Value.Shape()...)
		case onto != 0:
			add = matrix(dx)
		}
		b.LayerNormGrad(matrix(dx), dgamma, dbeta, matrix(t.Grad(y)), matrix(x.Value), value(gamma), stats.Value, add, acc)
	}, x, stats)
	t.Done(stats)
	return y
}

// Normalize divides each row by n = max(‖x‖, ε). If a row is shorter than ε, it and its gradient
// are divided by ε.
func Normalize(t *grad.Tape, x *grad.Var, eps float32) *grad.Var {
	y := t.New(x.Value.Type, x.Value.Shape()...)
	norm := t.New(device.F32, x.Value.Rows())
	t.Do(func(b device.Backend) { b.Normalize(matrix(y.Value), norm.Value, matrix(x.Value), eps) })
	t.Back(func(b device.Backend) {
		if dx := t.Into(x); !dx.Absent() {
			b.NormalizeGrad(matrix(dx), matrix(t.Grad(y)), matrix(y.Value), norm.Value)
		}
	}, y, norm)
	t.Done(norm)
	return y
}
