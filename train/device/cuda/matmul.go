package cuda

import (
	"math"
	"strings"

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

// productLibraries compute products, the second those with a factor.
var productLibraries = []string{byBlas, byDnn}

// MatMul computes dst = Act(Alpha·op(a)·op(b) + Beta·c + Bias), c being m.Add or, if that is
// absent, dst. Arrays of three dimensions are batches of matrices.
func (b *Backend) MatMul(dst, x, y device.Array, m device.Mul) {
	libraries := productLibraries
	if m.Factor.Absent() {
		libraries = libraries[:1]
	}
	b.choose(x.Type, choosable{
		shape: func() string {
			return shapeText("MatMul", dst, x, y, m.TransA, m.TransB, m.Alpha == 1, m.Beta != 0, m.Add, m.Add == dst,
				m.Bias, m.Short, m.Act, m.Sums, m.Factor)
		},
		libraries: libraries,
		writes:    []device.Array{dst, m.Sums},
		run: func(to writes) {
			m := m
			if m.Add == dst {
				m.Add = to(dst)
			}
			m.Sums = to(m.Sums)
			b.matMul(to(dst), x, y, m)
		},
	})
}

func (b *Backend) matMul(dst, x, y device.Array, m device.Mul) {
	rows, cols, inner, batch, fits := m.Shape(dst, x, y)
	if !fits {
		panic(shapes("MatMul", dst, x, y, m.Bias, m.Add, m.Sums, m.Factor))
	}
	if m.Add.Absent() {
		m.Add = dst
	}
	o := matmul{
		m: int64(rows), n: int64(cols), k: int64(inner), batch: int64(batch),
		lda: int64(stride(x)), ldb: int64(stride(y)), ldc: int64(stride(dst)),
		alpha: m.Alpha, beta: m.Beta, relu: relu(m.Act),
	}
	if batch > 1 {
		o.nextA, o.nextB, o.nextC = int64(x.Dims[1]*x.Dims[2]), int64(y.Dims[1]*y.Dims[2]), int64(rows*cols)
	}
	if b.multiplyTimes(dst, x, y, m, o) || b.multiplyByVendor(dst, x, y, m, o) {
		return
	}
	b.multiply("MatMul", dst, x, y, m, o, b.tilingOf(&o, x.Type))
	b.sumFactor(x, m)
}

// sumFactor computes m.Sums of the factor x, unless that was done.
func (b *Backend) sumFactor(x device.Array, m device.Mul) {
	if !m.Sums.Absent() {
		b.Sums(m.Sums, x, device.SumCols, 0)
	}
}

// Scores computes q·gᵀ, always with the kernels of this package. It never splits the sum over the
// embedding, so the rounding of an element depends only on the embedding's length.
func (b *Backend) Scores(dst, q, g device.Array) {
	m := device.Mul{TransB: true, Alpha: 1}
	rows, cols, inner, _, fits := m.Shape(dst, q, g)
	if !fits || dst.N != 2 {
		panic(shapes("Scores", dst, q, g))
	}
	o := matmul{
		m: int64(rows), n: int64(cols), k: int64(inner), batch: 1,
		lda: int64(stride(q)), ldb: int64(stride(g)), ldc: int64(stride(dst)), alpha: 1,
	}
	tile, _ := productTiles(wantedBlocks, rows, cols, leastSplit, 1) // it never splits
	b.multiply("Scores", dst, q, g, m, o, tiling{tile: tile, splits: 1})
}

// tiling is how a product is cut.
type tiling struct {
	tile   int // side of a block's part of the result
	splits int // ranges of the sum
}

// tilingOf returns how a product of matrices of a type is cut.
func (b *Backend) tilingOf(o *matmul, t device.DType) tiling {
	return b.chosen.tiling(b.filling(t), int(o.m), int(o.n), int(o.k), int(o.batch))
}

// filling returns the number of blocks that keep the GPU busy, two for each multiprocessor. In F32 every GPU takes
// those of one, since the splits of a sum decide its bytes.
func (b *Backend) filling(t device.DType) int {
	if t == device.F32 {
		return wantedBlocks
	}
	return 2 * b.card.Multiprocessors
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
	name := strings.TrimSuffix(matMulKernels[t.tile][index(m.TransA)][index(m.TransB)], "_bf16")
	structure(c, &o).run("matmul", name, blocks(rows, t.tile)*blocks(cols, t.tile)*batch*int(o.splits), 256, 0)
	if o.splits > 1 {
		structure(b.op(op), &o).run("matmul", "matmul_finish", blocks(batch*rows*cols, 256), 256, 0)
	}
	b.activate(dst, m.Act)
	b.times(dst, m.Factor)
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

// times multiplies a result by a factor that may be absent.
func (b *Backend) times(dst, factor device.Array) {
	if !factor.Absent() {
		b.Scale(dst, dst, factor)
	}
}

func index(v bool) int {
	if v {
		return 1
	}
	return 0
}

const (
	// wantedBlocks is the number of blocks that keep a GPU of 132 multiprocessors busy.
	wantedBlocks = 264

	// splitUnit divides the length of every split: a run of gemm.h.
	splitUnit = 64

	// leastSplit is the shortest range that justifies a separate block.
	leastSplit = 256

	// splitColumns is how many columns take as long to multiply as the sums of a split take to be
	// written and read, where the product is large enough to fill a GPU.
	splitColumns = 512
)

// productTiles returns the side of a tile and the number of splits of k, for a GPU that so many blocks fill. Both
// depend only on it and on the shape. A tile of 128 reads half as much for each product. Where there are few of them,
// splits make up the number.
func productTiles(filling, rows, cols, inner, batch int) (tile, splits int) {
	tile = 128
	most := max(1, inner/leastSplit)
	if rows <= 64 || cols <= 64 || blocks(rows, 128)*blocks(cols, 128)*batch*most < filling {
		tile = 64
	}
	return tile, productSplits(filling, tile, rows, cols, inner, batch)
}

// productSplits returns the number of splits of k for tiles of a given side with the least time, which is that of
// the rounds of blocks that fill a GPU, the last one not full, and that of the sums.
func productSplits(filling, tile, rows, cols, inner, batch int) int {
	tiles := max(1, blocks(rows, tile)*blocks(cols, tile)*batch)
	best, least := 1, math.Inf(1)
	for n := 1; n <= max(1, min(filling, inner/leastSplit)); n++ {
		full := float64(tiles*n) / float64(filling)
		if cost := math.Ceil(full)/full + float64((n-1)*splitColumns)/float64(max(inner, 1)); cost < least {
			best, least = n, cost
		}
	}
	return best
}
