package cuda

import "hgld/train/device"

// Norm is batch normalisation over all but the last axis with the biased variance. stats [2,C]
// is an input if o.Frozen, else an output.
func (b *Backend) Norm(dst, stats, x, gamma, beta, residual device.Array, o device.NormKind) {
	rows, c := x.Rows(), x.Cols()
	if !device.FitsMoments(dst, stats, x, gamma, beta, residual) {
		panic(shapes("Norm", dst, stats, x, gamma, beta, residual))
	}
	if !o.Frozen {
		b.statistics("Norm", stats, x)
	}
	if dst.Absent() {
		return
	}
	k := b.op("Norm").columnsOf(rows, c, dst, x, residual, stats, beta)
	b.op("Norm").active(dst).active(x).active(residual).ptr(f32(stats)).ptr(f32(gamma)).ptr(f32(beta)).
		i64(rows).i64(c).f32(o.Eps).flag(o.ReLU).i32(k.lanes).run("norm", "norm_apply", k.grid, 256, 0)
}

// byChannel reports whether 16 bytes of these arrays and of vectors of their channels can be read
// at once, and how many elements of a, the first, a thread has then.
func (c *call) byChannel(a device.Array, more ...device.Array) (wide bool, each int) {
	each = 16 / a.Type.Size()
	at := c.address(a)
	for _, m := range more {
		at |= c.address(m)
	}
	if a.Cols()%each != 0 || at%16 != 0 {
		return false, 1
	}
	return true, each
}

// statistics writes mean and biased variance of the columns of x to stats F32 [2,C].
func (b *Backend) statistics(op string, stats, x device.Array) {
	rows, c := x.Rows(), x.Cols()
	k := b.op(op).columnsOf(rows, c, x)
	at := b.scratch(op, 16*k.spans*c, joinedMoments(k.spans, c))
	b.op(op).addr(at[0]).active(x).i64(rows).i64(c).i32(k.lanes).run("norm", "norm_moments", k.grid, 256, 0)
	b.joinMoments(op, stats, at[0], at[1], k.spans, span, rows, c, 1)
}

// joinedMoments returns the bytes of scratch memory of joinMoments for so many parts.
func joinedMoments(count, c int) int {
	if count <= partsMost {
		return 0
	}
	return 16 * blocks(count, partsRun) * c
}

// joinMoments joins count parts of unit rows each (see moments.h) to stats [2,C]. A row of what was summed has `beside`
// rows of c channels, each with a part of its own: 1 or 2. more is memory of joinedMoments bytes.
func (b *Backend) joinMoments(op string, stats device.Array, parts, more Address, count, unit, rows, c, beside int) {
	if count > partsMost {
		runs := blocks(count, partsRun)
		b.op(op).addr(more).addr(0).addr(parts).i64(count).i64(unit).i64(rows).i64(partsRun).i64(c).i32(beside).
			run("norm", "norm_join_f32", runs*blocks(c, 32), 256, 0)
		parts, count, unit, rows, beside = more, runs, unit*partsRun, rows*beside, 1
	}
	b.op(op).addr(0).ptr(f32(stats)).addr(parts).i64(count).i64(unit).i64(rows).i64(max(count, 1)).i64(c).i32(beside).
		run("norm", "norm_join_f32", blocks(c, 32), 256, 0)
}

// NormGrad is the gradient of Norm without residual and ReLU.
func (b *Backend) NormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, sums device.Array, o device.NormKind, acc float32) {
	rows, c := x.Rows(), x.Cols()
	if dy.Len() != x.Len() || dy.Cols() != c || !dx.Absent() && dx.Len() != x.Len() || stats.Len() != 2*c ||
		!sums.Absent() && sums.Len() != 2*c || !device.AreVectors(c, gamma, dgamma, dbeta) {
		panic(shapes("NormGrad", dx, dgamma, dbeta, dy, x, gamma, stats, sums))
	}
	const op = "NormGrad"
	none, mean := device.Array{}, stats.RowRange(0, 1)
	k := b.op(op).columnsOf(rows, c, dy, x, mean)
	computed := sums.Absent() && !(o.Frozen && dgamma.Absent() && dbeta.Absent())
	if !computed {
		k.spans = 0
	}
	at := b.scratch(op, 8*c, 16*k.spans*c)
	own, parts := at[0], at[1]
	given := b.op(op).address(f32(sums))
	if computed {
		b.op(op).addr(parts).active(none).active(dy).active(none).active(none).active(x).ptr(f32(mean)).
			i64(rows).i64(c).i32(k.lanes).run("relugrad", "relugrad_along", k.grid, 256, 0)
		distance, left := b.joinRuns(op, parts, 2*c, k.spans, 2*c)
		b.op(op).addr(own).f32(0).addr(parts).i64(distance).i64(left).i64(max(left, 1)).i64(2*c).
			run("join", "join_f32", blocks(2*c, 32), 256, 0)
		given = own
	}
	call := b.op(op)
	call.address(sums)
	k = call.columnsOf(rows, c, dy, x, dx, stats)
	call.active(dx).ptr(f32(dgamma)).ptr(f32(dbeta)).active(dy).active(x).addr(given).ptr(f32(stats)).ptr(f32(gamma)).
		i64(rows).i64(c).f32(o.Eps).f32(acc).flag(o.Frozen).i32(k.lanes).run("norm", "norm_back", k.grid, 256, 0)
}
