package nn

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// Pool takes the maximum or the mean of windows of an image [N,H,W,C]. Of equal
// maxima the first in row-major order takes the gradient.
func Pool(t *grad.Tape, x *grad.Var, p device.PoolShape) *grad.Var {
	d := x.Value.Dims
	h, w := 1, 1
	if !p.Global {
		h, w = device.Windows(d[1], p.H, p.StrideH, p.PadH, 1), device.Windows(d[2], p.W, p.StrideW, p.PadW, 1)
	}
	y := t.New(x.Value.Type, x.Value.Dims[0], h, w, x.Value.Dims[3])
	t.Do(func(b device.Backend) { b.Pool(y.Value, x.Value, p) })
	t.Back(func(b device.Backend) {
		dx, masks := t.Masks(x, p.Mode == device.MaxPool)
		if !dx.Absent() {
			p.Positive = masks
			b.PoolGrad(dx, t.Grad(y), x.Value, y.Value, p)
		}
	}, x, y)
	return y
}

// GlobalPool takes the maximum or the mean of whole images: [N,H,W,C] → [N,C].
func GlobalPool(t *grad.Tape, x *grad.Var, mode device.PoolMode) *grad.Var {
	y := Pool(t, x, device.PoolShape{Mode: mode, Global: true})
	return t.View(y, x.Value.Dims[0], x.Value.Dims[3])
}

// GeM is generalised-mean pooling (Radenović et al., "Fine-tuning CNN Image
// Retrieval with No Human Annotation", TPAMI 2019) with one learnable exponent,
//
//	y = (mean over the image of max(x, ε)^p)^(1/p),
//
// between the mean (p = 1) and the maximum (p → ∞). x below ε has gradient 0.
type GeM struct {
	P   *Param  // [1]
	Eps float32 // lower bound of values before they are raised to the power
}

// NewGeM declares a layer with p = 3 and ε = 1e-6, SupRank's values.
func NewGeM(c Scope) *GeM { return &GeM{P: c.Param("p", Constant(3), 1), Eps: 1e-6} }

// Forward maps [N,H,W,C] to [N,C].
func (g *GeM) Forward(t *grad.Tape, x *grad.Var) *grad.Var {
	p := g.P.Var(t)
	y := t.New(x.Value.Type, x.Value.Dims[0], x.Value.Dims[3])
	t.Do(func(b device.Backend) { b.GeM(y.Value, x.Value, p.Value, g.Eps) })
	t.Back(func(b device.Backend) {
		dp, acc := t.Onto(p)
		b.GeMGrad(into(t, x), dp, t.Grad(y), x.Value, y.Value, p.Value, g.Eps, acc)
	}, x, y)
	return y
}
