package cuda

import (
	"math"

	"hgld/train/device"
	"hgld/train/device/cuda/vendor"
)

// heads is the argument of the kernels of attention.cu.
type heads struct {
	images                      int64
	tokens, heads, size, causal int32
	scale                       float32
	_                           int32
}

// attentionOf checks the arrays of an attention and returns its geometry.
func attentionOf(op string, y, lse, qkv, length device.Array, o device.Heads) heads {
	if qkv.N != 3 || o.Heads < 1 || qkv.Dims[2]%(3*o.Heads) != 0 {
		panic(shapes(op, y, lse, qkv, length))
	}
	images, tokens, width := qkv.Dims[0], qkv.Dims[1], qkv.Dims[2]/3
	if y.Len() != images*tokens*width || !y.Contiguous() || lse.Len() != images*tokens*o.Heads || !lse.Contiguous() ||
		!device.AreVectors(images, length) {
		panic(shapes(op, y, lse, qkv, length))
	}
	h := heads{
		images: int64(images), tokens: int32(tokens), heads: int32(o.Heads), size: int32(width / o.Heads),
		scale: float32(1 / math.Sqrt(float64(width/o.Heads))),
	}
	if o.Causal {
		h.causal = 1
	}
	return h
}

// attentionKernels are the kernels of an attention and how they are launched.
type attentionKernels struct {
	module                 string
	forward, gradQ, gradKV attentionKernel
}

// attentionKernel is a kernel with its blocks, its threads in a block and its bytes of shared memory.
type attentionKernel struct {
	name                  string
	grid, threads, shared int
}

const (
	// attentionRows is the number of tokens that a warp of the kernels for tensor cores owns: ROWS of
	// attentiontiles.h.
	attentionRows = 16

	// widestHead is the largest head that they compute.
	widestHead = 128
)

// kernels chooses the kernels: tensor cores multiply BF16 arrays whose heads begin at multiples of
// 16 bytes.
func (h heads) kernels(c *call, arrays ...device.Array) attentionKernels {
	along := int64(h.size)
	for _, a := range arrays {
		along |= int64(c.address(a)) / 2
	}
	if c.dtype != device.BF16 || along%8 != 0 || h.size > widestHead {
		warps := int(h.images) * int(h.tokens) * int(h.heads)
		plain := func(name string) attentionKernel { return attentionKernel{name, blocks(warps, 8), 256, 0} }
		return attentionKernels{"attention", plain("attention"), plain("attention_grad_q"), plain("attention_grad_kv")}
	}
	if h.size > 64 {
		return attentionKernels{
			module:  "attentionbf16",
			forward: h.tiled("attention_128", 4, attentionTile{width: 128, step: 32, own: 1}),
			gradQ:   h.tiled("attention_grad_q_128", 4, attentionTile{width: 128, step: 16, own: 2}),
			gradKV:  h.tiled("attention_grad_kv_128", 4, attentionTile{width: 128, step: 16, own: 2, keeps: true}),
		}
	}
	return attentionKernels{
		module:  "attentionbf16",
		forward: h.tiled("attention_64", 8, attentionTile{width: 64, step: 64, own: 1}),
		gradQ:   h.tiled("attention_grad_q_64", 8, attentionTile{width: 64, step: 32, own: 2}),
		gradKV:  h.tiled("attention_grad_kv_64", 4, attentionTile{width: 64, step: 32, own: 2, keeps: true}),
	}
}

// tiled launches a kernel for tensor cores in the fewest blocks of at most so many warps, which share the tokens
// of a head evenly: few blocks read the other tokens seldom, and few warps are without a token.
func (h heads) tiled(name string, most int, t attentionTile) attentionKernel {
	warps := blocks(int(h.tokens), attentionRows)
	tiles := blocks(warps, most)
	warps = blocks(warps, tiles)
	return attentionKernel{name, int(h.images) * int(h.heads) * tiles, 32 * warps, t.shared(warps)}
}

func (k attentionKernel) run(c *call, module string) {
	c.run(module, k.name, k.grid, k.threads, k.shared)
}

// attentionTile is what a block has in shared memory.
type attentionTile struct {
	width int  // of a row
	step  int  // tokens that stream past at a time
	own   int  // arrays of which each warp has its own rows
	keeps bool // these rows are needed to the end, where the other array of each step has its marks
}

// shared returns the bytes of the memory: two steps of two arrays, and the rows of the warps. Rows that are needed
// before the first step alone are where the second will be.
func (t attentionTile) shared(warps int) int {
	row := (t.width + 8) * device.BF16.Size()
	step, own := 2*t.step*row, warps*t.own*attentionRows*row
	if t.keeps {
		return 2*step + own + 2*2*t.step*device.F32.Size()
	}
	return step + max(step, own)
}

// Attention computes softmax(q·kᵀ/√Dh)·v for each head.
func (b *Backend) Attention(dst, lse, qkv, length device.Array, o device.Heads) {
	h := attentionOf("Attention", dst, lse, qkv, length, o)
	if b.attendByVendor(h, length, func(c *call) vendor.Sequences {
		return vendor.Sequences{QKV: uint64(c.address(qkv)), Y: uint64(c.address(dst)), LSE: uint64(c.address(f32(lse)))}
	}, dst, qkv) {
		return
	}
	c := b.op("Attention").active(dst).ptr(f32(lse)).active(qkv).ptr(i32(length))
	k := h.kernels(c, dst, qkv)
	k.forward.run(structure(c, &h), k.module)
}

// AttentionGrad is the gradient of Attention in terms of its result y.
func (b *Backend) AttentionGrad(dqkv, dy, y, lse, qkv, length device.Array, o device.Heads) {
	h := attentionOf("AttentionGrad", y, lse, qkv, length, o)
	if dqkv.Len() != qkv.Len() || !dqkv.Contiguous() || dy.Len() != y.Len() || !dy.Contiguous() {
		panic(shapes("AttentionGrad", dqkv, dy, y, lse, qkv, length))
	}
	if b.attendByVendor(h, length, func(c *call) vendor.Sequences {
		return vendor.Sequences{QKV: uint64(c.address(qkv)), Y: uint64(c.address(y)), LSE: uint64(c.address(f32(lse))),
			DY: uint64(c.address(dy)), DQKV: uint64(c.address(dqkv))}
	}, dqkv, dy, y, qkv) {
		return
	}
	delta := b.scratch("AttentionGrad", 4*lse.Len())[0]
	c := b.op("AttentionGrad").active(dqkv).addr(delta).active(dy).active(y).ptr(f32(lse)).active(qkv).
		ptr(i32(length))
	k := h.kernels(c, dqkv, dy, y, qkv)
	k.gradQ.run(structure(c, &h), k.module)
	c = b.op("AttentionGrad").active(dqkv).addr(delta).active(dy).ptr(f32(lse)).active(qkv).ptr(i32(length))
	k.gradKV.run(structure(c, &h), k.module)
}

var _ device.Ragged = (*Backend)(nil)

// RaggedAttention is Attention of packed sequences, addressed by the rows of their tokens. A
// query with an invalid index becomes NaN.
func (b *Backend) RaggedAttention(dst, qkv, rows, keys, spans device.Array, heads int) {
	q, d := dst.Dims[0], dst.Dims[1]
	if dst.N != 2 || qkv.N != 2 || heads < 1 || d%heads != 0 || qkv.Dims[1] != 3*d || spans.Len() != 2*q ||
		rows.Absent() && qkv.Dims[0] != q || !rows.Absent() && rows.Len() != q || !spans.Contiguous() {
		panic(shapes("RaggedAttention", dst, qkv, rows, keys, spans))
	}
	b.op("RaggedAttention").active(dst).i64(stride(dst)).active(qkv).i64(stride(qkv)).i64(qkv.Dims[0]).ptr(i32(rows)).
		ptr(i32(keys)).i64(keys.Len()).ptr(i32(spans)).i64(q).i32(heads).i32(d/heads).
		f32(float32(1/math.Sqrt(float64(d/heads)))).
		run("attention", "attention_ragged", blocks(q*heads, 8), 256, 0)
}
