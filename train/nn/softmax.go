package nn

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// Softmax is e^x / Σ e^x over the last axis.
func Softmax(t *grad.Tape, x *grad.Var) *grad.Var { return softmax(t, x, false) }

// LogSoftmax is x − log Σ e^x over the last axis.
func LogSoftmax(t *grad.Tape, x *grad.Var) *grad.Var { return softmax(t, x, true) }

func softmax(t *grad.Tape, x *grad.Var, log bool) *grad.Var {
	y := t.New(x.Value.Type, x.Value.Shape()...)
	t.Do(func(b device.Backend) { b.Softmax(matrix(y.Value), matrix(x.Value), log) })
	t.Back(func(b device.Backend) {
		if dx := t.Into(x); !dx.Absent() {
			b.SoftmaxGrad(matrix(dx), matrix(t.Grad(y)), matrix(y.Value), log)
		}
	}, y)
	return y
}

// CrossEntropy is the loss of each row of z [rows,C] with its target class, I32
// [rows], as device.Softmax describes it: [rows]. A row with target −1 has loss 0.
func CrossEntropy(t *grad.Tape, z *grad.Var, target device.Array, o device.Softmax) *grad.Var {
	loss := t.New(device.F32, z.Value.Dims[0])
	dz := t.New(z.Value.Type, z.Value.Shape()...)
	t.Do(func(b device.Backend) { b.SoftmaxLoss(loss.Value, dz.Value, z.Value, target, o) })
	t.Back(func(b device.Backend) {
		if into := t.Into(z); !into.Absent() {
			b.Scale(into, dz.Value, t.Grad(loss))
		}
	}, dz)
	t.Done(dz)
	return loss
}

// Sum is the sum of all elements of x times factor, [1]: with factor 1/n their
// mean.
func Sum(t *grad.Tape, x *grad.Var, factor float32) *grad.Var {
	y := t.New(device.F32, 1)
	t.Do(func(b device.Backend) {
		b.Sums(y.Value, x.Value, device.SumAll, 0)
		b.Axpby(y.Value, factor, y.Value, 0, device.Array{})
	})
	t.Back(func(b device.Backend) {
		if dx := t.Into(x); !dx.Absent() {
			b.Fill(dx, factor)
			b.Scale(dx, dx, t.Grad(y))
		}
	})
	return y
}
