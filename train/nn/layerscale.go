package nn

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// scaled is γ(x·Wᵀ + b) + residual over the last axis: LayerScale (Touvron et al., "Going deeper
// with Image Transformers", ICCV 2021) after a linear layer. γ is folded into W and b, which
// costs a pass over the weights and none over the tokens.
func (l *Linear) scaled(t *grad.Tape, x operand, residual *grad.Var) *grad.Var {
	w, bias, gamma := l.Weight.Var(t), l.Bias.Var(t), l.Gamma.Var(t)
	d := gamma.Value.Len()
	wf, bf := t.New(device.F32, w.Value.Shape()...), t.New(device.F32, d)
	// FoldNorm computes γ·w/√variance and −γ·mean/√variance.
	mean, variance := t.New(device.F32, d), t.New(device.F32, d)
	t.Do(func(b device.Backend) {
		b.Axpby(mean.Value, -1, bias.Value, 0, device.Array{})
		b.Fill(variance.Value, 1)
		b.FoldNorm(wf.Value, bf.Value, w.Value, gamma.Value, device.Array{}, mean.Value, variance.Value, 0)
	})
	t.Back(func(b device.Backend) {
		dw, acc := t.Onto(w)
		if dw.Absent() {
			return
		}
		dgamma, _ := t.Onto(gamma)
		dbias, _ := t.Onto(bias)
		dbf := t.Grad(bf)
		b.FoldNormGrad(dw, dgamma, device.Array{}, t.Grad(wf), dbf, w.Value, gamma.Value, mean.Value, variance.Value, 0, acc)
		own := t.Scratch(device.F32, d, 1)
		b.Scale(own, dbf.Reshape(d, 1), gamma.Value)
		if acc == 0 {
			b.Copy(dbias, own.Reshape(d))
		} else {
			b.Axpby(dbias, 1, dbias, 1, own.Reshape(d))
		}
	}, mean, variance)
	t.Done(mean)
	t.Done(variance)
	short := convert(t, wf, x.x.Value.Type)
	y := affine(t, x, short, bf, residual, device.Array{})
	if short != wf {
		t.Done(short)
	}
	t.Done(wf)
	t.Done(bf)
	return y
}
