package cpu

import (
	"math"

	"hgld/internal/blas"
	"hgld/train/device"
)

// Scores is q·gᵀ. Bytes do not depend on how queries or gallery are cut into
// blocks, nor on the BLAS in use: this product is always blas.Native, whose
// rounding of an element depends on its operands alone.
func (b *Backend) Scores(dst, q, g device.Array) {
	if dst.N != 2 || q.N != 2 || g.N != 2 || q.Dims[1] != g.Dims[1] || dst.Dims[0] != q.Dims[0] || dst.Dims[1] != g.Dims[0] {
		panic(shapes("Scores", dst, q, g))
	}
	b.products(1, product{
		lib: b.exact, c: f32(dst), a: f32(q), b: f32(g), transB: true,
		m: dst.Dims[0], n: dst.Dims[1], k: q.Dims[1], lda: q.Ld, ldb: g.Ld, ldc: dst.Ld, alpha: 1,
	})
}

// Nearest finds for each row of x the row of c with the least cc − 2x·c; a tie
// goes to the lower row.
func (b *Backend) Nearest(index, dist, x, c, cc device.Array) {
	if x.N != 2 || c.N != 2 || x.Dims[1] != c.Dims[1] || index.Len() != x.Dims[0] || dist.Len() != x.Dims[0] ||
		cc.Len() != c.Dims[0] || c.Dims[0] == 0 {
		panic(shapes("Nearest", index, dist, x, c, cc))
	}
	t := nearestTask{
		lib: b.exact, x: f32(x), c: f32(c), cc: f32(cc), index: i32(index), dist: f32(dist),
		d: x.Dims[1], ldX: x.Ld, ldC: c.Ld,
		products: scratch[float32](b, "nearest", b.Threads()*nearRows*nearCols),
	}
	split(b, x.Dims[0], nearRows, t)
}

// nearRows × nearCols is the tile of products that Nearest keeps at a time.
const nearRows, nearCols = 96, 256

type nearestTask struct {
	lib         blas.Library
	x, c, cc    []float32
	index       []int32
	dist        []float32
	d, ldX, ldC int
	products    []float32 // a tile for each worker
}

func (t *nearestTask) span(worker, lo, hi int) {
	for i := lo; i < hi; i++ {
		t.index[i], t.dist[i] = 0, float32(math.Inf(1))
	}
	tile := t.products[worker*nearRows*nearCols:][:nearRows*nearCols]
	for j := 0; j < len(t.cc); j += nearCols {
		cc := t.cc[j:min(j+nearCols, len(t.cc))]
		t.lib.Sgemm(false, true, hi-lo, len(cc), t.d, 1, t.x[lo*t.ldX:], t.ldX, t.c[j*t.ldC:], t.ldC, 0, tile, nearCols)
		for i := lo; i < hi; i++ {
			t.dist[i], t.index[i] = least(t.dist[i], t.index[i], cc, tile[(i-lo)*nearCols:][:len(cc)], j)
		}
	}
}

// least returns the least of best and cc − 2·products, and its index.
func least(best float32, at int32, cc, products []float32, first int) (float32, int32) {
	for k, square := range cc {
		if d := square - 2*products[k]; d < best {
			best, at = d, int32(first+k)
		}
	}
	return best, at
}
