package cuda

import "hgld/train/device"

// Norm is batch normalisation over all but the last axis with the biased variance. stats [2,C]
// is an input if o.Frozen, else an output.
func (b *Backend) Norm(dst, stats, x, gamma, beta, residual device.Array, o device.NormKind) {
	rows, c := x.Rows(), x.Cols()
	if dst.Len() != x.Len() || dst.Cols() != c || stats.Len() != 2*c || !isVector(gamma, c) || !isVector(beta, c) ||
		!residual.Absent() && residual.Len() != x.Len() || !x.Contiguous() || !dst.Contiguous() || !stats.Contiguous() {
		panic(shapes("Norm", dst, stats, x, gamma, beta, residual))
	}
	grid, spans := columnBlocks(rows, c)
	if o.Frozen {
		spans = 0
	}
	at := b.scratch("Norm", 16*spans*c, 4*c, 4*c)
	parts, scale, shift := at[0], at[1], at[2]
	if !o.Frozen {
		b.op("Norm").addr(parts).active(x).i64(rows).i64(c).run("norm", "norm_moments", grid, 256, 0)
	}
	b.op("Norm").ptr(f32(stats)).addr(scale).addr(shift).addr(parts).active(x).ptr(f32(gamma)).ptr(f32(beta)).
		i64(spans).i64(rows).i64(c).f32(o.Eps).flag(o.Frozen).run("norm", "norm_stats", blocks(c, 256), 256, 0)
	b.op("Norm").active(dst).active(x).active(residual).ptr(f32(stats)).addr(scale).addr(shift).
		i64(rows).i64(c).flag(o.ReLU).run("norm", "norm_apply", blocks(x.Len(), 256), 256, 0)
}

// NormGrad needs y = dst for the mask of ReLU. dx, dres, dgamma and dbeta may be absent.
func (b *Backend) NormGrad(dx, dres, dgamma, dbeta, dy, x, y, gamma, stats device.Array, o device.NormKind,
	acc float32) {
	rows, c := x.Rows(), x.Cols()
	if dy.Len() != x.Len() || dy.Cols() != c || !dx.Absent() && dx.Len() != x.Len() ||
		!dres.Absent() && dres.Len() != x.Len() ||
		o.ReLU && y.Len() != x.Len() || stats.Len() != 2*c || !isVector(gamma, c) || !isVector(dgamma, c) ||
		!isVector(dbeta, c) {
		panic(shapes("NormGrad", dx, dres, dgamma, dbeta, dy, x, y, gamma, stats))
	}
	if !o.ReLU {
		y = device.Array{}
	}
	grid, spans := columnBlocks(rows, c)
	if o.Frozen && dgamma.Absent() && dbeta.Absent() {
		grid, spans = 0, 0
	}
	at := b.scratch("NormGrad", 16*spans*c, 4*c, 4*c, 4*c)
	parts, scale, along, offset := at[0], at[1], at[2], at[3]
	b.op("NormGrad").addr(parts).active(dy).active(x).active(y).ptr(f32(stats)).i64(rows).i64(c).
		run("norm", "norm_sums", grid, 256, 0)
	b.op("NormGrad").ptr(f32(dgamma)).ptr(f32(dbeta)).addr(scale).addr(along).addr(offset).addr(parts).ptr(f32(stats)).
		ptr(f32(gamma)).i64(spans).i64(rows).i64(c).f32(o.Eps).f32(acc).flag(o.Frozen).
		run("norm", "norm_factors_f32", blocks(c, 256), 256, 0)
	if dx.Absent() && dres.Absent() {
		return
	}
	b.op("NormGrad").active(dx).active(dres).active(dy).active(x).active(y).ptr(f32(stats)).
		addr(scale).addr(along).addr(offset).i64(rows).i64(c).run("norm", "norm_back", blocks(x.Len(), 256), 256, 0)
}
