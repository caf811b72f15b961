package cuda

import "hgld/train/device"

// Axpby computes dst = a·x + b·y. y has the shape of x, or that of its last dimensions and is
// then repeated over the others. If b is 0, y is not read and may be absent.
func (b *Backend) Axpby(dst device.Array, a float32, x device.Array, by float32, y device.Array) {
	if y.Absent() {
		by = 0
	}
	repeat := 0
	if by != 0 && y.Len() != x.Len() {
		if !device.Trails(y, x) || !y.Contiguous() {
			panic(shapes("Axpby", dst, x, y))
		}
		repeat = y.Len()
	}
	if dst.Len() != x.Len() || dst.Cols() != x.Cols() {
		panic(shapes("Axpby", dst, x, y))
	}
	rows, width, grid := x.Rows(), x.Cols(), blocks(x.Len(), 256)
	if dst.Contiguous() && x.Contiguous() && repeat == 0 && (by == 0 || y.Contiguous()) {
		rows, width, grid = 1, x.Len(), lines{1, x.Len()}.blocks()
	}
	b.op("Axpby").active(dst).f32(a).active(x).f32(by).active(y).
		i64(rows).i64(width).i64(stride(dst)).i64(stride(x)).i64(stride(y)).i64(repeat).
		run("axpby", "axpby", grid, 256, 0)
}
