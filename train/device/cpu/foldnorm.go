package cpu

import (
	"math"

	"hgld/train/device"
)

// FoldNorm folds a normalisation by frozen statistics into the preceding weights, filter by
// filter: with r = 1/√(variance + eps), wf = γ·r·w and bf = β − γ·r·mean. wf and w are [K, …].
// An absent gamma counts as 1, an absent beta as 0.
func (b *Backend) FoldNorm(wf, bf, w, gamma, beta, mean, variance device.Array, eps float32) {
	k, width := w.Dims[0], w.Len()/max(w.Dims[0], 1)
	if wf.Len() != w.Len() || bf.Len() != k || mean.Len() != k || variance.Len() != k ||
		!device.AreVectors(k, gamma, beta) {
		panic(shapes("FoldNorm", wf, bf, w, gamma, beta, mean, variance))
	}
	split(b, k, rowGrain(width), foldTask{
		f32(wf), f32(bf), f32(w), f32(gamma), f32(beta), f32(mean), f32(variance), width, float64(eps)})
}

type foldTask struct {
	wf, bf, w, gamma, beta, mean, variance []float32
	width                                  int
	eps                                    float64
}

func (t *foldTask) span(_, lo, hi int) {
	for k := lo; k < hi; k++ {
		scale := gain(t.gamma, k) / math.Sqrt(float64(t.variance[k])+t.eps)
		shift := -scale * float64(t.mean[k])
		if t.beta != nil {
			shift += float64(t.beta[k])
		}
		t.bf[k] = float32(shift)
		wf := t.wf[k*t.width:][:t.width]
		for i, v := range t.w[k*t.width:][:t.width] {
			wf[i] = float32(scale * float64(v))
		}
	}
}

// FoldNormGrad computes the gradient of FoldNorm:
//
//	dw = γr·dwf, dβ = dbf, dγ = r(⟨w, dwf⟩ − mean·dbf)
//
// It needs no output of the layer, and is exact at γ = 0 as well. dgamma and dbeta may be
// absent.
func (b *Backend) FoldNormGrad(dw, dgamma, dbeta, dwf, dbf, w, gamma, mean, variance device.Array, eps, acc float32) {
	k, width := w.Dims[0], w.Len()/max(w.Dims[0], 1)
	if dw.Len() != w.Len() || dwf.Len() != w.Len() || dbf.Len() != k || mean.Len() != k || variance.Len() != k ||
		!device.AreVectors(k, gamma, dgamma, dbeta) {
		panic(shapes("FoldNormGrad", dw, dgamma, dbeta, dwf, dbf, w, gamma, mean, variance))
	}
	split(b, k, rowGrain(width), foldGradTask{
		f32(dw), f32(dgamma), f32(dbeta), f32(dwf), f32(dbf), f32(w), f32(gamma), f32(mean), f32(variance),
		width, float64(eps), acc})
}

type foldGradTask struct {
	dw, dgamma, dbeta, dwf, dbf, w, gamma, mean, variance []float32
	width                                                 int
	eps                                                   float64
	acc                                                   float32
}

func (t *foldGradTask) span(_, lo, hi int) {
	for k := lo; k < hi; k++ {
		w, dwf, dw := t.w[k*t.width:][:t.width], t.dwf[k*t.width:][:t.width], t.dw[k*t.width:][:t.width]
		r, dbf := 1/math.Sqrt(float64(t.variance[k])+t.eps), float64(t.dbf[k])
		if t.dgamma != nil {
			t.dgamma[k] = accumulate(t.dgamma[k], t.acc, r*(dot(w, dwf)-float64(t.mean[k])*dbf))
		}
		if t.dbeta != nil {
			t.dbeta[k] = accumulate(t.dbeta[k], t.acc, dbf)
		}
		scale := gain(t.gamma, k) * r
		for i, v := range dwf {
			dw[i] = accumulate(dw[i], t.acc, scale*float64(v))
		}
	}
}
