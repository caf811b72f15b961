package cuda

import (
	"math"
	"math/bits"

	"hgld/train/device"
)

// held says how lanes of a warp hold rows: see layernormheld.cu.
type held struct {
	kernel, gradient string
	runs             int // of eight columns that a lane has
	shift            int // 1 << shift lanes have a row
	rows             int // of a warp
}

// The kernels for rows that are held.
var heldKernels = [...]held{
	{kernel: "layernorm_held_3", gradient: "layernorm_grad_held_3", runs: 3},
	{kernel: "layernorm_held_4", gradient: "layernorm_grad_held_4", runs: 4},
}

// heldRows returns how lanes hold the rows of x: BF16, with γ, and at least four lanes, which read 64 bytes side by
// side. wide says that 16 bytes of all rows can be read at once.
func heldRows(x, gamma device.Array, wide bool) (h held, ok bool) {
	for _, h = range heldKernels {
		lanes := x.Cols() / (8 * h.runs)
		if lanes*8*h.runs == x.Cols() && bits.OnesCount(uint(lanes)) == 1 {
			h.shift, h.rows = bits.TrailingZeros(uint(lanes)), 32/lanes
			return h, wide && x.Type == device.BF16 && !gamma.Absent() && lanes >= 4 && lanes <= 32
		}
	}
	return held{}, false
}

// LayerNorm normalises over the last axis with the biased variance. stats [rows,2] stores mean
// and 1/√(variance + eps). gamma and beta may be absent.
func (b *Backend) LayerNorm(dst, stats, x, gamma, beta device.Array, eps float32) {
	rows, width, ld := matrixOf(x)
	if dst.Len() != x.Len() || dst.Cols() != width || stats.Len() != 2*rows || !device.AreVectors(width, gamma, beta) {
		panic(shapes("LayerNorm", dst, stats, x, gamma, beta))
	}
	c := b.op("LayerNorm")
	wide, _ := c.byRun(x, dst, gamma, beta)
	if h, ok := heldRows(x, gamma, wide && !beta.Absent()); ok {
		c.active(dst).i64(stride(dst)).ptr(f32(stats)).active(x).i64(ld).ptr(f32(gamma)).ptr(f32(beta)).
			i64(rows).i32(h.shift).f64(1/float64(width)).f32(eps).
			run("layernormheld", h.kernel, blocks(rows, 8*h.rows), 256, 0)
		return
	}
	c.active(dst).i64(stride(dst)).ptr(f32(stats)).active(x).i64(ld).ptr(f32(gamma)).ptr(f32(beta)).
		i64(rows).i64(width).f32(eps).flag(wide).run("layernorm", "layernorm", blocks(rows, 8), 256, 0)
}

// LayerNormGrad is the gradient of LayerNorm. dgamma, dbeta and add may be absent.
func (b *Backend) LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, add device.Array, acc float32) {
	rows, width, ld := matrixOf(x)
	if dx.Len() != x.Len() || dy.Len() != x.Len() || dx.Cols() != width || dy.Cols() != width || stats.Len() != 2*rows ||
		!device.AreVectors(width, gamma, dgamma, dbeta) ||
		!add.Absent() && (add.Len() != x.Len() || add.Cols() != width) {
		panic(shapes("LayerNormGrad", dx, dgamma, dbeta, dy, x, gamma, stats, add))
	}
	c := b.op("LayerNormGrad")
	wide, _ := c.byRun(x, dx, dy, gamma, add)
	if h, ok := heldRows(x, gamma, wide); ok {
		b.heldGrad(h, dx, dgamma, dbeta, dy, x, gamma, stats, add, acc)
		return
	}
	k := c.columnsOf(rows, width, dy, x)
	parts := b.scratch("LayerNormGrad", 16*k.spans*width)[0]
	b.op("LayerNormGrad").addr(parts).active(dy).i64(stride(dy)).active(x).i64(ld).ptr(f32(stats)).i64(rows).
		i64(width).i32(k.lanes).run("layernorm", "layernorm_sums", k.grid, 256, 0)
	b.op("LayerNormGrad").active(dx).i64(stride(dx)).active(dy).i64(stride(dy)).active(x).i64(ld).ptr(f32(gamma)).
		ptr(f32(stats)).active(add).i64(stride(add)).i64(rows).i64(width).flag(wide).
		run("layernorm", "layernorm_grad", blocks(rows, 8), 256, 0)
	b.joinBoth("LayerNormGrad", dgamma, dbeta, acc, parts, k.spans, width)
}

// heldGrad is LayerNormGrad by one kernel. A block takes 128 rows, so that the parts of its sums are a 25th of what it
// moves, and fewer where there would be few blocks. It adds to dx alone, so that another add is copied there.
func (b *Backend) heldGrad(h held, dx, dgamma, dbeta, dy, x, gamma, stats, add device.Array, acc float32) {
	rows, width, ld := matrixOf(x)
	each := 128
	for each > 16*h.rows && blocks(rows, each) < wantedBlocks {
		each /= 2
	}
	keep := uint32(0)
	if !add.Absent() {
		keep = math.MaxUint32
		if add.Buf != dx.Buf || add.Off != dx.Off || stride(add) != stride(dx) {
			b.Copy(dx, add)
		}
	}
	count := blocks(rows, each)
	parts := b.scratch("LayerNormGrad", 16*count*width)[0]
	b.op("LayerNormGrad").addr(parts).active(dx).i64(stride(dx)).active(dy).i64(stride(dy)).active(x).i64(ld).
		ptr(f32(gamma)).ptr(f32(stats)).i64(rows).i32(h.shift).f64(1/float64(width)).i32(each).u32(keep).
		run("layernormheld", h.gradient, count, 128, 0)
	b.joinBoth("LayerNormGrad", dgamma, dbeta, acc, parts, count, width)
}
