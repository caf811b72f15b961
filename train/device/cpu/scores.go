package cpu

import "hgld/train/device"

// Scores computes q·gᵀ. Its bytes do not depend on how queries or gallery are cut into blocks,
// nor on the BLAS in use. It always uses blas.Native, whose rounding of an element depends
// only on the element's operands.
func (b *Backend) Scores(dst, q, g device.Array) {
	if dst.N != 2 || q.N != 2 || g.N != 2 || q.Dims[1] != g.Dims[1] || dst.Dims[0] != q.Dims[0] ||
		dst.Dims[1] != g.Dims[0] {
		panic(shapes("Scores", dst, q, g))
	}
	b.products(1, product{
		lib: b.exact, c: f32(dst), a: f32(q), b: f32(g), transB: true,
		m: dst.Dims[0], n: dst.Dims[1], k: q.Dims[1], lda: q.Ld, ldb: g.Ld, ldc: dst.Ld, alpha: 1,
	})
}
