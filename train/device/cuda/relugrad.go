package cuda

import "hgld/train/device"

// ReluGrad applies the epilogue e to the gradient dy.
func (b *Backend) ReluGrad(dx, dy device.Array, e device.GradEpilogue, acc float32) {
	const op = "ReluGrad"
	c := dy.Cols()
	if !e.Fits(dy) {
		panic(shapes(op, dy, e.Add, e.Mask, e.X, e.Sums, e.Mean))
	}
	if !dx.Absent() && (dx.Len() != dy.Len() || dx.Cols() != c) || !dy.Contiguous() || !dx.Contiguous() ||
		dx.Absent() && !e.Add.Absent() {
		panic(shapes(op, dx, dy))
	}
	n := dy.Len()
	switch grid := blocks(n, 1024); {
	case !e.Sums.Absent():
		b.sumGrad(op, dx, dy, e, acc)
	case dx.Absent():
	case !e.Add.Absent():
		b.op(op).active(dx).active(dy).active(e.Add).active(e.Mask).i64(n).run("relugrad", "relugrad_add", grid, 256, 0)
	case e.Mask.Absent():
		if dx != dy {
			b.Copy(dx, dy)
		}
	default:
		b.op(op).active(dx).active(dy).active(e.Mask).i64(n).run("relugrad", "relugrad", grid, 256, 0)
	}
}

// sumGrad is ReluGrad with sums.
func (b *Backend) sumGrad(op string, dx, dy device.Array, e device.GradEpilogue, acc float32) {
	rows, c := dy.Rows(), dy.Cols()
	k := b.op(op).columnsOf(rows, c, dy, dx, e.Add, e.Mask, e.X, e.Mean)
	n := e.Sums.Len()
	parts := b.scratch(op, 8*k.spans*n)[0]
	call := b.op(op).addr(parts).active(dx).active(dy).active(e.Add).active(e.Mask)
	if e.X.Absent() {
		call.i64(rows).i64(c).i32(k.lanes).run("relugrad", "relugrad_sums", k.grid, 256, 0)
	} else {
		call.active(e.X).ptr(f32(e.Mean)).i64(rows).i64(c).i32(k.lanes).
			run("relugrad", "relugrad_along", k.grid, 256, 0)
	}
	b.join(op, e.Sums, acc, parts, n, k.spans, n)
}
