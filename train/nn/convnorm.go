package nn

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
)

// ConvNormAct is act(norm(conv(x)) + residual). residual is nil or has the shape of the result;
// act is Identity or ReLU.
//
// With statistics of the batch it is a convolution, which also computes the statistics, and one
// operation for the rest. Given statistics (a frozen layer, an evaluation) are folded into the
// weights, so that it is a single convolution with an epilogue. Its gradient then needs neither
// the convolution's result nor x̂, and is exact even at γ = 0.
func ConvNormAct(t *grad.Tape, x *grad.Var, conv *Conv, norm *BatchNorm, residual *grad.Var,
	act device.Func) *grad.Var {
	if conv.Bias != nil || norm.Gamma == nil {
		panic(fmt.Sprintf("nn: %s: want a convolution without bias before a norm with one", conv.Weight.Name()))
	}
	if norm.Frozen || t.Evaluating() {
		return convFolded(t, x, conv, norm, residual, act)
	}
	stats := norm.statistics(t)
	z := conv.forward(t, x, stats.Value)
	y := norm.behind(t, z, residual, stats, act)
	t.Done(z)
	return y
}

// convFolded is ConvNormAct with given statistics.
func convFolded(t *grad.Tape, x *grad.Var, conv *Conv, norm *BatchNorm, residual *grad.Var, act device.Func) *grad.Var {
	w, gamma, beta := conv.Weight.Var(t), norm.Gamma.Var(t), norm.Beta.Var(t)
	mean, variance := norm.Running.Mean(), norm.Running.Variance()
	y := t.New(x.Value.Type, conv.output(x)...)
	wf := t.New(x.Value.Type, w.Value.Shape()...)
	bf := t.New(device.F32, beta.Value.Len())
	t.Do(func(b device.Backend) {
		b.FoldNorm(wf.Value, bf.Value, w.Value, gamma.Value, beta.Value, mean, variance, norm.Eps)
	})
	e := device.Epilogue{Bias: bf.Value, Residual: value(residual), Act: act}
	t.Do(func(b device.Backend) { b.Conv(y.Value, x.Value, wf.Value, conv.Shape, e) })
	t.Done(bf)
	t.Back(func(b device.Backend) {
		dz, dbf := front(t, b, y, act)
		if residual != nil {
			t.Pass(b, y, residual)
		}
		addPixels(t, b, x, dz, wf, conv.Shape)
		dw, acc := t.Onto(w)
		if dw.Absent() {
			return
		}
		dgamma, _ := t.Onto(gamma)
		dbeta, _ := t.Onto(beta)
		dwf := t.Scratch(device.F32, w.Value.Shape()...)
		b.ConvGradW(dwf, dz, x.Value, conv.Shape, 0)
		b.FoldNormGrad(dw, dgamma, dbeta, dwf, dbf, w.Value, gamma.Value, mean, variance, norm.Eps, acc)
	}, x, y, wf)
	if act == device.ReLU {
		t.Rectified(y)
	}
	t.Done(wf)
	return y
}

// front returns the gradient of y before act, and its column sums.
func front(t *grad.Tape, b device.Backend, y *grad.Var, act device.Func) (dz, sums device.Array) {
	if act == device.ReLU {
		return t.Front(b, y)
	}
	dz, sums = t.Grad(y), t.Scratch(device.F32, y.Value.Cols())
	b.Sums(sums, matrix(dz), device.SumCols, 0)
	return dz, sums
}
