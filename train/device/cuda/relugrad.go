package cuda

import "hgld/train/device"

// ReluGrad computes dx = dy where y > 0, else 0, and dbias = acc·dbias + the column sums of
// dx. Either may be absent, and dx may be dy.
func (b *Backend) ReluGrad(dx, dbias, dy, y device.Array, acc float32) {
	rows, c := dy.Rows(), dy.Cols()
	if y.Len() != dy.Len() || y.Cols() != c || !dx.Absent() && (dx.Len() != dy.Len() || dx.Cols() != c) ||
		!isVector(dbias, c) || !dy.Contiguous() || !y.Contiguous() || !dx.Contiguous() {
		panic(shapes("ReluGrad", dx, dbias, dy, y))
	}
	if dbias.Absent() {
		if !dx.Absent() {
			b.op("ReluGrad").active(dx).active(dy).active(y).i64(dy.Len()).
				run("relugrad", "relugrad", blocks(dy.Len(), 1024), 256, 0)
		}
		return
	}
	grid, spans := columnBlocks(rows, c)
	parts := b.scratch("ReluGrad", 8*spans*c)[0]
	b.op("ReluGrad").addr(parts).active(dx).active(dy).active(y).i64(rows).i64(c).
		run("relugrad", "relugrad_sums", grid, 256, 0)
	b.join("ReluGrad", dbias, acc, parts, c, spans, c)
}
