package cpu

import "hgld/train/device"

// Scores computes q·gᵀ. Its bytes do not depend on how queries or gallery are cut into blocks,
// nor on the BLAS in use. It always uses blas.Native, whose rounding of an element depends
// only on the element's operands. Rows among themselves have symmetric scores, of which it computes
// one half.
func (b *Backend) Scores(dst, q, g device.Array) {
	if dst.N != 2 || q.N != 2 || g.N != 2 || q.Dims[1] != g.Dims[1] || dst.Dims[0] != q.Dims[0] ||
		dst.Dims[1] != g.Dims[0] {
		panic(shapes("Scores", dst, q, g))
	}
	chunk := scoreColumns(q.Dims[0], g.Dims[0], q.Dims[1])
	for lo := 0; lo < g.Dims[0]; lo += chunk {
		hi := min(lo+chunk, g.Dims[0])
		b.products(1, product{
			lib: b.exact, c: f32(dst)[lo:], a: f32(q), b: f32(g)[lo*g.Ld:], transB: true,
			m: dst.Dims[0], n: hi - lo, k: q.Dims[1], lda: q.Ld, ldb: g.Ld, ldc: dst.Ld, alpha: 1,
			upper: q == g, first: lo,
		})
	}
	if q == g {
		b.mirror(dst)
	}
}

// scoreColumns returns how many rows of the gallery are multiplied at a time. If there are enough
// queries for packing to pay, it is as many as can be packed once for all queries.
func scoreColumns(queries, gallery, width int) int {
	const tile = 512 // columns of a tile, see tileShape
	if most := mostPacked / max(width, 1) / tile * tile; most > 0 && queries > sharedTiles*192 {
		return most
	}
	return max(gallery, 1)
}

// Floats returns the elements of a without copying: device.Host.
func (b *Backend) Floats(a device.Array) []float32 {
	if !a.Contiguous() {
		panic(shapes("Floats", a))
	}
	return f32(a)
}
