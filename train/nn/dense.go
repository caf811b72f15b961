package nn

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// Linear is y = x·Wᵀ + b over the last axis.
type Linear struct {
	Weight *Param // [out, in]
	Bias   *Param // [out], or nil

	// Transposed: Weight is [in, out], as OpenAI's CLIP keeps its projections.
	Transposed bool
}

// NewLinear declares a layer with bias, started as torch's Linear unless c says
// otherwise.
func NewLinear(c Scope, in, out int) *Linear {
	weight, bias := c.weight, c.bias
	if weight == nil {
		weight, bias = KaimingUniform, UniformFan(in)
	}
	return &Linear{Weight: c.Param("weight", weight, out, in), Bias: c.Param("bias", bias, out)}
}

// Forward is [..., in] → [..., out].
func (l *Linear) Forward(t *grad.Tape, x *grad.Var) *grad.Var {
	w := l.Weight.Var(t)
	dims := append([]int(nil), x.Value.Shape()...)
	dims[len(dims)-1] = w.Value.Dims[0]
	if l.Transposed {
		dims[len(dims)-1] = w.Value.Dims[1]
	}
	y := t.New(x.Value.Type, dims...)
	m := device.Mul{TransB: !l.Transposed, Alpha: 1}
	var bias *grad.Var
	if l.Bias != nil {
		bias = l.Bias.Var(t)
		m.Bias = bias.Value
	}
	t.Do(func(b device.Backend) { b.MatMul(matrix(y.Value), matrix(x.Value), w.Value, m) })
	t.Back(func(b device.Backend) {
		dy := matrix(t.Grad(y))
		if dx, acc := t.Onto(x); !dx.Absent() {
			b.MatMul(matrix(dx), dy, w.Value, device.Mul{TransB: l.Transposed, Alpha: 1, Beta: acc})
		}
		if dw, acc := t.Onto(w); !dw.Absent() {
			left, right := dy, matrix(x.Value)
			if l.Transposed {
				left, right = right, left
			}
			b.MatMul(dw, left, right, device.Mul{TransA: true, Alpha: 1, Beta: acc})
		}
		if bias != nil {
			addColumns(t, b, bias, dy)
		}
	}, x)
	return y
}
