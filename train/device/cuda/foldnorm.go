package cuda

import "hgld/train/device"

// FoldNorm folds frozen statistics into the preceding filters. An absent gamma counts as 1, an
// absent beta as 0.
func (b *Backend) FoldNorm(wf, bf, w, gamma, beta, mean, variance device.Array, eps float32) {
	k, width := w.Dims[0], w.Len()/max(w.Dims[0], 1)
	if wf.Len() != w.Len() || bf.Len() != k || mean.Len() != k || variance.Len() != k ||
		!device.AreVectors(k, gamma, beta) {
		panic(shapes("FoldNorm", wf, bf, w, gamma, beta, mean, variance))
	}
	b.op("FoldNorm").active(wf).ptr(f32(bf)).ptr(f32(w)).ptr(f32(gamma)).ptr(f32(beta)).ptr(f32(mean)).
		ptr(f32(variance)).i64(width).f32(eps).run("foldnorm", "foldnorm", k, rowThreads(width), 0)
}

// FoldNormGrad is the gradient of FoldNorm. dgamma and dbeta may be absent.
func (b *Backend) FoldNormGrad(dw, dgamma, dbeta, dwf, dbf, w, gamma, mean, variance device.Array, eps, acc float32) {
	k, width := w.Dims[0], w.Len()/max(w.Dims[0], 1)
	if dw.Len() != w.Len() || dwf.Len() != w.Len() || dbf.Len() != k || mean.Len() != k || variance.Len() != k ||
		!device.AreVectors(k, gamma, dgamma, dbeta) {
		panic(shapes("FoldNormGrad", dw, dgamma, dbeta, dwf, dbf, w, gamma, mean, variance))
	}
	b.op("FoldNormGrad").ptr(f32(dw)).ptr(f32(dgamma)).ptr(f32(dbeta)).ptr(f32(dwf)).ptr(f32(dbf)).ptr(f32(w)).
		ptr(f32(gamma)).ptr(f32(mean)).ptr(f32(variance)).i64(width).f32(eps).f32(acc).
		run("foldnorm", "foldnorm_grad_f32", k, rowThreads(width), 0)
}
