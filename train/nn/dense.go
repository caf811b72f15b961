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
	return l.onto(t, operand{x: x, to: x}, residual)
}

// after records residual + Forward(f(x)). The product that computes the gradient by f(x) multiplies it by the slope.
func (l *Linear) after(t *grad.Tape, x *grad.Var, f device.Func, residual *grad.Var) *grad.Var {
	a := operand{to: x}
	a.x, a.slope = activate(t, x, f)
	y := l.onto(t, a, residual)
	t.Done(a.x)
	return y
}

// operand is what a linear layer reads.
type operand struct {
	x     *grad.Var
	slope *grad.Var // of an activation before the layer, or nil
	to    *grad.Var // receives the gradient: what the activation read, or x
}

func (l *Linear) onto(t *grad.Tape, x operand, residual *grad.Var) *grad.Var {
	if l.Gamma != nil {
		return l.scaled(t, x, residual)
	}
	var bias *grad.Var
	var short device.Array
	if l.Bias != nil {
		bias, short = l.Bias.Var(t), l.Bias.As(t, x.x.Value.Type).Value
	}
	return affine(t, x, l.Weight.As(t, x.x.Value.Type), bias, residual, short)
}

// Affine records x·wᵀ + bias + residual over the last axis: x [..., in], w [out, in], bias
// [out] or nil, residual [..., out] or nil. The result [..., out] has the type of x.
func Affine(t *grad.Tape, x, w, bias, residual *grad.Var) *grad.Var {
	return affine(t, operand{x: x, to: x}, w, bias, residual, device.Array{})
}

// affine is Affine. short is the bias in the type of x, or absent. One of x and the slope is read at a time.
func affine(t *grad.Tape, from operand, w, bias, residual *grad.Var, short device.Array) *grad.Var {
	x := from.x
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
	}, x)
	reads := []*grad.Var{w}
	if from.slope != nil {
		reads = append(reads, from.slope)
	}
	t.Back(func(b device.Backend) { from.back(t, b, matrix(t.Grad(y)), w.Value) }, reads...)
	return y
}

// back computes the gradient dy·w by what the layer or the activation before it reads.
func (from operand) back(t *grad.Tape, b device.Backend, dy, w device.Array) {
	if from.slope == nil {
		if dx, acc := t.Onto(from.to); !dx.Absent() {
			b.MatMul(matrix(dx), dy, w, device.Mul{Alpha: 1, Beta: acc})
		}
	} else if dx := t.Into(from.to); !dx.Absent() {
		b.MatMul(matrix(dx), dy, w, device.Mul{Alpha: 1, Factor: matrix(from.slope.Value)})
	}
}
