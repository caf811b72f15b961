package cuda

import "hgld/train/device"

// Scale computes dst = s·x, where s is one number, or one per row or element.
func (b *Backend) Scale(dst, x, s device.Array) {
	if device.IsEach(s, x) {
		l := linesOf("Scale", dst, x, s)
		b.op("Scale").active(dst).i64(stride(dst)).active(x).i64(stride(x)).active(s).i64(stride(s)).i64(l.rows).i64(l.width).
			run("scale", "scale_each", l.blocks(), 256, 0)
		return
	}
	l := linesOf("Scale", dst, x)
	if s.Len() == 1 {
		b.op("Scale").active(dst).i64(stride(dst)).active(x).i64(stride(x)).ptr(f32(s)).i64(l.rows).i64(l.width).
			run("scale", "scale", l.blocks(), 256, 0)
		return
	}
	rows, width, ld := matrixOf(x)
	if s.Len() != rows || !s.Contiguous() || dst.Cols() != width {
		panic(shapes("Scale", dst, x, s))
	}
	b.op("Scale").active(dst).i64(stride(dst)).active(x).i64(ld).ptr(f32(s)).i64(rows).i64(width).
		run("scale", "scale_rows", blocks(rows*width, 256), 256, 0)
}
