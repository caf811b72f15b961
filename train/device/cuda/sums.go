package cuda

import "hgld/train/device"

// sumPiece is the number of elements that a block of sums_all adds up.
const sumPiece = 16384

// Sums computes dst = acc·dst + the sum of x or of its squares in float64, over all elements,
// each row or each column.
func (b *Backend) Sums(dst, x device.Array, k device.Sum, acc float32) {
	rows, width, ld := matrixOf(x)
	squares := k >= device.SquaresAll
	want := [...]int{device.SumAll: 1, device.SumRows: rows, device.SumCols: width}[k%device.SquaresAll]
	if dst.Len() != want || !dst.Contiguous() {
		panic(shapes("Sums", dst, x))
	}
	switch k % device.SquaresAll {
	case device.SumAll:
		l := linesOf("Sums", x)
		n := blocks(l.len(), sumPiece)
		parts := b.scratch("Sums", 8*n)[0]
		c := b.op("Sums")
		wide, _ := c.byFour(x)
		c.addr(parts).active(x).i64(ld).i64(l.rows).i64(l.width).flag(squares).flag(wide && l.rows == 1).
			run("sums", "sums_all", n, 256, 0)
		b.join("Sums", dst, acc, parts, 1, n, 1)
	case device.SumRows:
		b.op("Sums").ptr(f32(dst)).f32(acc).active(x).i64(ld).i64(rows).i64(width).flag(squares).
			run("sums", "sums_rows", blocks(rows, 8), 256, 0)
	default:
		k := b.op("Sums").columnsOf(rows, width, x)
		parts := b.scratch("Sums", 8*k.spans*width)[0]
		b.op("Sums").addr(parts).active(x).i64(ld).i64(rows).i64(width).flag(squares).i32(k.lanes).
			run("sums", "sums_columns", k.grid, 256, 0)
		b.join("Sums", dst, acc, parts, width, k.spans, width)
	}
}
