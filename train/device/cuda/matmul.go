package cuda

import (
	"math"

	"hgld/train/device"
)

// matmul is the argument of the kernels of matmul.cu.
type matmul struct {
	c, a, b, bias, add, parts                   Address
	m, n, k, lda, ldb, ldc, nextA, nextB, nextC int64
	batch, splits, span                         int64
	alpha, beta                                 float32
	relu                                        int32
	_                                           int32
}

// MatMul computes dst = Act(Alpha·op(a)·op(b) + Beta·c + Bias), c being m.Add or, if that is
// absent, dst. Arrays of three dimensions are batches of matrices.
func (b *Backend) MatMul(dst, x, y device.Array, m device.Mul) {
	rows, cols, inner, batch := productShape("MatMul", dst, x, y, m)
	if m.Add.Absent() {
		m.Add = dst
	}
	if !isVector(m.Bias, cols) || m.Add.Dims != dst.Dims || m.Add.Type != dst.Type || stride(m.Add) != stride(dst) {
		panic(shapes("MatMul", dst, x, y, m.Bias, m.Add))
	}
	o := matmul{
		m: int64(rows), n: int64(cols), k: int64(inner), batch: int64(batch),
		lda: int64(stride(x)), ldb: int64(stride(y)), ldc: int64(stride(dst)),
		alpha: m.Alpha, beta: m.Beta, relu: relu(m.Act),
	}
	if batch > 1 {
		o.nextA, o.nextB, o.nextC = int64(x.Dims[1]*x.Dims[2]), int64(y.Dims[1]*y.Dims[2]), int64(rows*cols)
	}
	if b.multiplyByVendor(dst, x, y, m, o) {
		return
	}
	b.multiply("MatMul", dst, x, y, m, o, b.tilingOf(matmulTile, matmulSplit, x, y, m, &o))
}

// Scores computes q·gᵀ, always with the kernels of this package. It never splits the sum over the
// embedding, so the rounding of an element depends only on the embedding's length.
func (b *Backend) Scores(dst, q, g device.Array) {
	m := device.Mul{TransB: true, Alpha: 1}
	rows, cols, inner, _ := productShape("Scores", dst, q, g, m)
	if dst.N != 2 {
		panic(shapes("Scores", dst, q, g))
	}
	o := matmul{
		m: int64(rows), n: int64(cols), k: int64(inner), batch: 1,
		lda: int64(stride(q)), ldb: int64(stride(g)), ldc: int64(stride(dst)), alpha: 1,
	}
	tile, _ := productTiles(rows, cols, leastSplit, 1) // it never splits
	b.multiply("Scores", dst, q, g, m, o, tiling{tile: tile, splits: 1})
}

// tiling is how a product is cut.
type tiling struct {
	tile   int  // side of a block's part of the result
	splits int  // ranges of the sum
	wide   wide // of BF16 arrays by wgmma, instead of the tile
}

// grid returns the number of tiles of a matrix.
func (t tiling) grid(rows, cols int) int {
	if t.wide.rows > 0 {
		return t.wide.grid(rows, cols)
	}
	return blocks(rows, t.tile) * blocks(cols, t.tile)
}

// byWgmma takes the tiles of wgmma, if it computes the product.
func (t *tiling) byWgmma(w wide) {
	if w.rows > 0 {
		t.wide, t.splits = w, w.splits
	}
}

// tilingOf returns how a product of matrices is cut.
func (b *Backend) tilingOf(tileKnob, splitKnob knob, x, y device.Array, m device.Mul, o *matmul) (t tiling) {
	rows, cols, inner, batch := int(o.m), int(o.n), int(o.k), int(o.batch)
	t.tile, t.splits = b.tuning.tiles(tileKnob, splitKnob, rows, cols, inner, batch)
	if x.Type == device.BF16 {
		if unitA, unitB := o.units(addressOf(x), addressOf(y), m); unitA == 8 && unitB == 8 {
			turned := m.TransA && !m.TransB
			t.byWgmma(b.wideOf(tileKnob, wideProduct{rows, cols, inner, batch, splitKnob, turned, turned}))
		}
	}
	return t
}

// multiply launches the kernel of a product, and the one that joins its splits. It chooses
// them by the type of the factors.
func (b *Backend) multiply(op string, dst, x, y device.Array, m device.Mul, o matmul, t tiling) {
	rows, cols, inner, batch := int(o.m), int(o.n), int(o.k), int(o.batch)
	if rows == 0 || cols == 0 || batch == 0 {
		return
	}
	if x.Type == device.BF16 {
		b.tensorMatMul(op, dst, x, y, m, o, t)
		return
	}
	o.splits, o.span = int64(t.splits), int64(inner)
	if t.splits > 1 {
		o.span = int64(blocks(inner, t.splits*splitUnit) * splitUnit)
		o.splits = int64(blocks(inner, int(o.span)))
		o.parts = b.scratch(op, 4*int(o.splits)*batch*rows*cols)[0]
	}
	c := b.op(op)
	o.c, o.a, o.b, o.bias = c.address(f32(dst)), c.address(f32(x)), c.address(f32(y)), c.address(f32(m.Bias))
	o.add = c.address(f32(m.Add))
	name := matMulNames[index(m.TransA)][index(m.TransB)] + map[int]string{64: "_64", 128: "_128"}[t.tile]
	structure(c, &o).run("matmul", name, blocks(rows, t.tile)*blocks(cols, t.tile)*batch*int(o.splits), 256, 0)
	if o.splits > 1 {
		structure(b.op(op), &o).run("matmul", "matmul_finish", blocks(batch*rows*cols, 256), 256, 0)
	}
	b.activate(dst, m.Act)
}

// relu is 1 for ReLU, the only activation that products apply themselves.
func relu(f device.Func) int32 {
	if f == device.ReLU {
		return 1
	}
	return 0
}

// activate applies any other activation in place.
func (b *Backend) activate(dst device.Array, f device.Func) {
	if f != device.ReLU && f != device.Identity {
		b.Act(dst, dst, f)
	}
}

func index(v bool) int {
	if v {
		return 1
	}
	return 0
}

const (
	// wantedBlocks is the number of blocks that keep a card of 132 multiprocessors busy.
	wantedBlocks = 264

	// splitUnit divides the length of every split: a run of gemm.h.
	splitUnit = 64

	// leastSplit is the shortest range that justifies a separate block.
	leastSplit = 256

	// splitColumns is how many columns take as long to multiply as the sums of a split take to be
	// written and read, where the product is large enough to fill a card.
	splitColumns = 512
)

// productTiles returns the side of a tile and the number of splits of k. Both depend only on
// the shape. A tile of 128 reads half as much for each product. Where there are few of them, splits
// make up the number.
func productTiles(rows, cols, inner, batch int) (tile, splits int) {
	tile = 128
	most := max(1, inner/leastSplit)
	if rows <= 64 || cols <= 64 || blocks(rows, 128)*blocks(cols, 128)*batch*most < wantedBlocks {
		tile = 64
	}
	return tile, productSplits(tile, rows, cols, inner, batch)
}

// productSplits returns the number of splits of k for tiles of a given side.
func productSplits(tile, rows, cols, inner, batch int) int {
	tiles := blocks(rows, tile) * blocks(cols, tile) * batch
	return bestSplits(tiles, wantedBlocks, min(wantedBlocks, inner/leastSplit), inner)
}

// bestSplits returns the number of splits, at most most, with the least time, which is that of the rounds of
// wanted blocks, the last one not full, and that of the sums.
func bestSplits(tiles, wanted, most, inner int) int {
	tiles = max(1, tiles)
	best, least := 1, math.Inf(1)
	for n := 1; n <= max(1, most); n++ {
		full := float64(tiles*n) / float64(wanted)
		if cost := math.Ceil(full)/full + float64((n-1)*splitColumns)/float64(max(inner, 1)); cost < least {
			best, least = n, cost
		}
	}
	return best
}

// productShape returns the sizes of a product, where op(x) is [rows, inner] and op(y) [inner,
// cols].
func productShape(op string, dst, x, y device.Array, m device.Mul) (rows, cols, inner, batch int) {
	if dst.N != x.N || dst.N != y.N || dst.N != 2 && dst.N != 3 {
		panic(shapes(op, dst, x, y))
	}
	batch = 1
	if dst.N == 3 {
		batch = dst.Dims[0]
		if x.Dims[0] != batch || y.Dims[0] != batch {
			panic(shapes(op, dst, x, y))
		}
	}
	size := func(a device.Array, trans bool) (r, c int) {
		r, c = a.Dims[a.N-2], a.Dims[a.N-1]
		if trans {
			r, c = c, r
		}
		return r, c
	}
	rows, inner = size(x, m.TransA)
	innerY, cols := size(y, m.TransB)
	if r, c := size(dst, false); r != rows || c != cols || innerY != inner {
		panic(shapes(op, dst, x, y))
	}
	return rows, cols, inner, batch
}
