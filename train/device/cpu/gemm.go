package cpu

import (
	"hgld/internal/blas"
	"hgld/train/device"
)

// product is a batch of matrix products c = alpha·op(a)·op(b) + beta·c with an epilogue. Unless
// add is nil, it is first copied to c. The product is cut into tiles of c, each computed by one
// BLAS call on one thread. The shape of a tile depends only on the shape of the product.
type product struct {
	lib            blas.Library
	c, a, b        []float32
	transA, transB bool
	m, n, k        int
	lda, ldb, ldc  int
	nextA, nextB   int // distance between matrices of the batch
	nextC          int
	alpha, beta    float32
	add            []float32 // laid out as c
	bias           []float32
	act            device.Func

	upper bool // tiles below the diagonal are not computed
	first int  // column of c in the matrix that has the diagonal

	tileM, tileN, down, across int // tiles: shape, and number in each direction

	shared   blas.Panels // b packed for all tiles, width columns; nil: each packs its own
	panels   []float32   // of rows from to to of b
	width    int
	from, to int
}

// products computes a batch of products.
func (b *Backend) products(batch int, p product) {
	if p.lib == nil {
		p.lib = b.blas
	}
	p.tileM, p.tileN = tileShape(p.m, p.n, p.k, p.transA)
	p.down, p.across = ceil(p.m, p.tileM), ceil(p.n, p.tileN)
	p.to = p.k
	tiles := batch * p.down * p.across
	if !p.shares(batch) {
		split(b, tiles, 1, p)
		return
	}
	for step := p.packedRows(); p.from < p.k; p.from = p.to {
		p.to = min(p.from+step, p.k)
		b.packShared(&p)
		split(b, tiles, 1, p)
	}
}

// tileShape starts from tiles that suit a BLAS, and halves them while there are fewer
// than 16 for the threads to share and each has more than 4 MFLOP (some 50 µs). The
// sides are multiples of the kernels' (6, 8, 12, 16 rows; 16, 32 columns). If a is
// transposed, a tile packs its rows of a. Wide tiles are better then: packing takes a
// tenth of the time of tiles of 128 columns.
func tileShape(m, n, k int, packsRows bool) (rows, cols int) {
	rows, cols = 192, 512
	if m > rows && m < 2*rows { // two tiles of about the same height
		rows = ceil(ceil(m, 2), 48) * 48
	}
	for ceil(m, rows)*ceil(n, cols) < 16 && 2*min(m, rows)*min(n, cols)*k > 4<<20 {
		switch {
		case packsRows && rows > 48:
			rows /= 2
		case cols > 128 && min(n, cols) >= min(m, rows):
			cols /= 2
		case rows > 48:
			rows /= 2
		case cols > 128:
			cols /= 2
		default:
			return rows, cols
		}
	}
	return rows, cols
}

func ceil(n, k int) int { return (n + k - 1) / k }

func (p *product) span(_, lo, hi int) {
	for tile := lo; tile < hi; tile++ {
		batch, at := tile/(p.down*p.across), tile%(p.down*p.across)
		i, j := at/p.across*p.tileM, at%p.across*p.tileN
		if p.upper && p.first+min(j+p.tileN, p.n) <= i {
			continue
		}
		if p.add != nil {
			p.begin(batch, i, j)
		}
		p.tile(p.c[batch*p.nextC:], p.a[batch*p.nextA:], p.b[batch*p.nextB:], i, j)
	}
}

// begin copies what is added to a tile, while it is in the cache.
func (p *product) begin(batch, i, j int) {
	for r := i; r < min(i+p.tileM, p.m); r++ {
		at := batch*p.nextC + r*p.ldc
		copy(p.c[at+j:at+min(j+p.tileN, p.n)], p.add[at+j:])
	}
}

// tile computes the tile of one product with its first element at (i, j).
func (p *product) tile(c, a, b []float32, i, j int) {
	rows, cols := min(p.tileM, p.m-i), min(p.tileN, p.n-j)
	c = c[i*p.ldc+j:]
	if p.transA {
		a = a[min(i, len(a)):]
	} else {
		a = a[min(i*p.lda, len(a)):]
	}
	if p.transB {
		b = b[min(j*p.ldb, len(b)):]
	} else {
		b = b[min(j, len(b)):]
	}
	if p.shared != nil {
		p.sharedTile(c, a, rows, cols, j)
	} else {
		p.lib.Sgemm(p.transA, p.transB, rows, cols, p.k, p.alpha, a, p.lda, b, p.ldb, p.beta, c, p.ldc)
	}
	if p.to < p.k || p.bias == nil && p.act == device.Identity {
		return
	}
	for r := range rows {
		line := c[r*p.ldc:][:cols]
		if p.bias != nil {
			axpby(line, 1, line, 1, p.bias[j:j+cols])
		}
		if p.act != device.Identity {
			activate(line, line, p.act)
		}
	}
}

// MatMul computes dst = Act(Alpha·op(a)·op(b) + Beta·c + Bias) for matrices, or for batches of
// matrices if the arrays have three dimensions. c is m.Add, or dst if that is absent.
func (b *Backend) MatMul(dst, x, y device.Array, m device.Mul) {
	rows, cols, inner, batch, fits := m.Shape(dst, x, y)
	if !fits {
		panic(shapes("MatMul", dst, x, y, m.Bias, m.Add, m.Sums, m.Factor))
	}
	p := product{
		c: f32(dst), a: f32(x), b: f32(y), transA: m.TransA, transB: m.TransB,
		m: rows, n: cols, k: inner, lda: x.Ld, ldb: y.Ld, ldc: dst.Ld,
		nextA: x.Dims[1] * x.Dims[2] * (x.N - 2), nextB: y.Dims[1] * y.Dims[2] * (y.N - 2), nextC: rows * cols * (dst.N - 2),
		alpha: m.Alpha, beta: m.Beta, bias: f32(m.Bias), act: m.Act,
	}
	if m.Beta != 0 {
		p.add = f32(m.Add)
	}
	b.usePacked(&p, batch, origin{y.Buf, y.Off})
	b.products(batch, p)
	if !m.Factor.Absent() {
		b.Scale(dst, dst, m.Factor)
	}
	if !m.Sums.Absent() {
		b.Sums(m.Sums, x, device.SumCols, 0)
	}
}
