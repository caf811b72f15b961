package cuda

import "hgld/train/device"

// Gather copies row index[i] of x to row i of dst. If the index is −1 or out of range, row i
// does not change. The types must be equal.
func (b *Backend) Gather(dst, x, index device.Array) {
	width, ldd := device.OuterRow(dst)
	widthX, ldx := device.OuterRow(x)
	if dst.Type != x.Type || width != widthX || index.Len() != dst.Dims[0] {
		panic(shapes("Gather", dst, x, index))
	}
	unit, name := unitOf(dst, x)
	size := x.Type.Size()
	width, ldd, ldx = width*size/unit, ldd*size/unit, ldx*size/unit
	n := index.Len()
	b.op("Gather").ptr(dst).i64(ldd).ptr(x).i64(ldx).ptr(i32(index)).i64(n).i64(width).i64(x.Dims[0]).
		run("gather", name, blocks(n*width, 256), 256, 0)
}

// unitOf returns the largest unit in bytes that divides the rows of both arrays, and its
// kernel. Buffers begin at multiples of 256 bytes.
func unitOf(arrays ...device.Array) (unit int, name string) {
	bits := 0
	for _, a := range arrays {
		width, ld := device.OuterRow(a)
		bits |= (width | ld | a.Off) * a.Type.Size()
	}
	switch {
	case bits%16 == 0:
		return 16, "gather_16"
	case bits%4 == 0:
		return 4, "gather_4"
	}
	return 1, "gather_1"
}

// ScatterAdd adds row i of x to row index[i] of dst, in row order. It skips −1 and indices out
// of range. If acc is 0, the rows that are hit start from zero and the others do not change.
func (b *Backend) ScatterAdd(dst, x, index device.Array, acc float32) {
	width, ldd := device.OuterRow(dst)
	widthX, ldx := device.OuterRow(x)
	if width != widthX || index.Len() != x.Dims[0] {
		panic(shapes("ScatterAdd", dst, x, index))
	}
	if width == 0 {
		return
	}
	n := index.Len()
	b.op("ScatterAdd").ptr(f32(dst)).i64(ldd).ptr(f32(x)).i64(ldx).ptr(i32(index)).i64(n).i64(width).i64(dst.Dims[0]).
		f32(acc).run("gather", "scatter_add_f32", n, rowThreads(width), 0)
}
