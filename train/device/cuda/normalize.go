package cuda

import "hgld/train/device"

// Normalize divides rows by n = max(‖x‖, eps). norm [rows] stores n, negated if n is eps. It
// may be absent.
func (b *Backend) Normalize(dst, norm, x device.Array, eps float32) {
	rows, width, ld := matrixOf(x)
	if dst.Len() != x.Len() || dst.Cols() != width || !norm.Absent() && norm.Len() != rows {
		panic(shapes("Normalize", dst, norm, x))
	}
	b.op("Normalize").active(dst).i64(stride(dst)).ptr(f32(norm)).active(x).i64(ld).i64(rows).i64(width).f32(eps).
		run("normalize", "normalize", blocks(rows, 8), 256, 0)
}

// NormalizeGrad is the gradient of Normalize in terms of its result y.
func (b *Backend) NormalizeGrad(dx, dy, y, norm device.Array) {
	rows, width, ld := matrixOf(dy)
	if dx.Len() != y.Len() || dy.Len() != y.Len() || dx.Cols() != width || y.Cols() != width || norm.Len() != rows {
		panic(shapes("NormalizeGrad", dx, dy, y, norm))
	}
	b.op("NormalizeGrad").active(dx).i64(stride(dx)).active(dy).i64(ld).active(y).i64(stride(y)).ptr(f32(norm)).
		i64(rows).i64(width).run("normalize", "normalize_grad", blocks(rows, 8), 256, 0)
}
