package cuda

import "hgld/train/device"

// LayerNorm normalises over the last axis with the biased variance. stats [rows,2] stores mean
// and 1/√(variance + eps). gamma and beta may be absent.
func (b *Backend) LayerNorm(dst, stats, x, gamma, beta device.Array, eps float32) {
	rows, width, ld := matrixOf(x)
	if dst.Len() != x.Len() || dst.Cols() != width || stats.Len() != 2*rows || !isVector(gamma, width) ||
		!isVector(beta, width) {
		panic(shapes("LayerNorm", dst, stats, x, gamma, beta))
	}
	c := b.op("LayerNorm")
	wide, _ := c.byRun(x, dst, gamma, beta)
	c.active(dst).i64(stride(dst)).ptr(f32(stats)).active(x).i64(ld).ptr(f32(gamma)).ptr(f32(beta)).
		i64(rows).i64(width).f32(eps).flag(wide).run("layernorm", "layernorm", blocks(rows, 8), 256, 0)
}

// LayerNormGrad is the gradient of LayerNorm. dgamma and dbeta may be absent.
func (b *Backend) LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, stats device.Array, acc float32) {
	rows, width, ld := matrixOf(x)
	if dx.Len() != x.Len() || dy.Len() != x.Len() || dx.Cols() != width || dy.Cols() != width || stats.Len() != 2*rows ||
		!isVector(gamma, width) || !isVector(dgamma, width) || !isVector(dbeta, width) {
		panic(shapes("LayerNormGrad", dx, dgamma, dbeta, dy, x, gamma, stats))
	}
	k := b.op("LayerNormGrad").columnsOf(rows, width, dy, x)
	parts := b.scratch("LayerNormGrad", 16*k.spans*width)[0]
	b.op("LayerNormGrad").addr(parts).active(dy).i64(stride(dy)).active(x).i64(ld).ptr(f32(stats)).i64(rows).
		i64(width).i32(k.lanes).run("layernorm", "layernorm_sums", k.grid, 256, 0)
	c := b.op("LayerNormGrad")
	wide, _ := c.byRun(x, dx, dy, gamma)
	c.active(dx).i64(stride(dx)).active(dy).i64(stride(dy)).active(x).i64(ld).ptr(f32(gamma)).
		ptr(f32(stats)).i64(rows).i64(width).flag(wide).run("layernorm", "layernorm_grad", blocks(rows, 8), 256, 0)
	b.join("LayerNormGrad", dgamma, acc, parts, 2*width, k.spans, width)
	b.join("LayerNormGrad", dbeta, acc, parts+Address(8*width), 2*width, k.spans, width)
}
