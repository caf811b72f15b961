package nn

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// Linear is y = x·Wᵀ + b over the last axis.
type Linear struct {
	Weight *Param // [out, in]
	Bias   *Param // [out], or nil
}

// NewLinear declares a layer with bias, started as torch's Linear.
func NewLinear(c Scope, in, out int) *Linear {
	return &Linear{
		Weight: c.Param("weight", KaimingUniform, out, in),
		Bias:   c.Param("bias", UniformFan(in), out),
	}
}

// Forward is [..., in] → [..., out].
func (l *Linear) Forward(t *grad.Tape, x *grad.Var) *grad.Var {
	w := l.Weight.Var(t)
	dims := append([]int(nil), x.Value.Shape()...)
	dims[len(dims)-1] = w.Value.Dims[0]
	y := t.New(x.Value.Type, dims...)
	m := device.Mul{TransB: true, Alpha: 1}
	var bias *grad.Var
	if l.Bias != nil {
		bias = l.Bias.Var(t)
		m.Bias = bias.Value
	}
	t.Do(func(b device.Backend) { b.MatMul(matrix(y.Value), matrix(x.Value), w.Value, m) })
	t.Back(func(b device.Backend) {
		dy := matrix(t.Grad(y))
		if dx, acc := t.Onto(x); !dx.Absent() {
			b.MatMul(matrix(dx), dy, w.Value, device.Mul{Alpha: 1, Beta: acc})
		}
		if dw, acc := t.Onto(w); !dw.Absent() {
			b.MatMul(dw, dy, matrix(x.Value), device.Mul{TransA: true, Alpha: 1, Beta: acc})
		}
		if bias != nil {
			addColumns(t, b, bias, dy)
		}
	}, x)
	return y
}
