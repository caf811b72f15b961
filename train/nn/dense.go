package nn

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// Linear is y = x·Wᵀ + b over the last axis.
type Linear struct {
	Weight *Param // [out, in]
	Bias   *Param // [out], or nil
	Gamma  *Param // [out], or nil: factors on the outputs; with a bias
}

// NewLinear declares a layer with bias, initialised as torch's Linear unless c says otherwise.
func NewLinear(c Scope, in, out int) *Linear {
	weight, bias := c.weight, c.bias
	if weight == nil {
		weight, bias = KaimingUniform, UniformFan(in)
	}
	return &Linear{Weight: c.Param("weight", weight, out, in), Bias: c.Param("bias", bias, out)}
}

// Forward maps [..., in] to [..., out].
func (l *Linear) Forward(t *grad.Tape, x *grad.Var) *grad.Var { return l.Onto(t, x, nil) }

// Onto records residual + Forward(x). residual [..., out] may be nil.
func (l *Linear) Onto(t *grad.Tape, x, residual *grad.Var) *grad.Var {
	if l.Gamma != nil {
		return l.scaled(t, x, residual)
	}
	var bias *grad.Var
	var short device.Array
	if l.Bias != nil {
		bias, short = l.Bias.Var(t), l.Bias.As(t, x.Value.Type).Value
	}
	return affine(t, x, l.Weight.As(t, x.Value.Type), bias, residual, short)
}

// Affine records x·wᵀ + bias + residual over the last axis: x [..., in], w [out, in], bias
// [out] or nil, residual [..., out] or nil. The result [..., out] has the type of x.
func Affine(t *grad.Tape, x, w, bias, residual *grad.Var) *grad.Var {
	return affine(t, x, w, bias, residual, device.Array{})
}

// affine is Affine. short is the bias in the type of x, or absent.
func affine(t *grad.Tape, x, w, bias, residual *grad.Var, short device.Array) *grad.Var {
	dims := append([]int(nil), x.Value.Shape()...)
	dims[len(dims)-1] = w.Value.Dims[0]
	y := t.New(x.Value.Type, dims...)
	m := device.Mul{TransB: true, Alpha: 1, Bias: value(bias), Short: short}
	if residual != nil {
		m.Beta, m.Add = 1, matrix(residual.Value)
	}
	t.Do(func(b device.Backend) { b.MatMul(matrix(y.Value), matrix(x.Value), w.Value, m) })
	t.Back(func(b device.Backend) {
		dy := matrix(t.Grad(y))
		if dx, acc := t.Onto(x); !dx.Absent() {
			b.MatMul(matrix(dx), dy, w.Value, device.Mul{Alpha: 1, Beta: acc})
		}
		var db device.Array
		var add float32
		if bias != nil {
			db, add = t.Onto(bias)
		}
		if dw, acc := t.Onto(w); !dw.Absent() {
			m := device.Mul{TransA: true, Alpha: 1, Beta: acc}
			if add == 0 {
				m.Sums, db = db, device.Array{}
			}
			b.MatMul(dw, dy, matrix(x.Value), m)
		}
		if !db.Absent() {
			b.Sums(db, dy, device.SumCols, add)
		}
		if residual != nil {
			t.Pass(b, y, residual)
		}
	}, x, w)
	return y
}
