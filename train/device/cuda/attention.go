package cuda

import (
	"math"

	"hgld/train/device"
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
		!isVector(length, images) {
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
	module, forward, gradQ, gradKV string
	grid, threads                  int
	shared, gradShared             int // bytes
}

const (
	// attentionTokens is the number of tokens of a block of the kernels for tensor cores: OWN of
	// attentiontiles.h.
	attentionTokens = 64

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
		return attentionKernels{
			module: "attention", forward: "attention", gradQ: "attention_grad_q", gradKV: "attention_grad_kv",
			grid: blocks(warps, 8), threads: 256,
		}
	}
	k := attentionKernels{
		module: "attentionbf16", forward: "attention_64", gradQ: "attention_grad_q_64", gradKV: "attention_grad_kv_64",
		grid: int(h.images) * int(h.heads) * blocks(int(h.tokens), attentionTokens), threads: 128,
	}
	width := 64
	if int(h.size) > width {
		width, k.forward, k.gradQ, k.gradKV = widestHead, "attention_128", "attention_grad_q_128", "attention_grad_kv_128"
	}
	k.shared, k.gradShared = attentionShared(width, 1, 4096/width), attentionShared(width, 2, 2048/width)
	return k
}

// attentionShared returns the size in bytes of a room of attentiontiles.h: the block's own rows of
// some arrays, and two steps of two others.
func attentionShared(width, arrays, step int) int {
	return (arrays*attentionTokens + 2*2*step) * (width + 8) * device.BF16.Size()
}

// Attention computes softmax(q·kᵀ/√Dh)·v for each head.
func (b *Backend) Attention(dst, lse, qkv, length device.Array, o device.Heads) {
	h := attentionOf("Attention", dst, lse, qkv, length, o)
	c := b.op("Attention").active(dst).ptr(f32(lse)).active(qkv).ptr(i32(length))
	k := h.kernels(c, dst, qkv)
	structure(c, &h).run(k.module, k.forward, k.grid, k.threads, k.shared)
}

// AttentionGrad is the gradient of Attention in terms of its result y.
func (b *Backend) AttentionGrad(dqkv, dy, y, lse, qkv, length device.Array, o device.Heads) {
	h := attentionOf("AttentionGrad", y, lse, qkv, length, o)
	if dqkv.Len() != qkv.Len() || !dqkv.Contiguous() || dy.Len() != y.Len() || !dy.Contiguous() {
		panic(shapes("AttentionGrad", dqkv, dy, y, lse, qkv, length))
	}
	delta := b.scratch("AttentionGrad", 4*lse.Len())[0]
	c := b.op("AttentionGrad").active(dqkv).addr(delta).active(dy).active(y).ptr(f32(lse)).active(qkv).
		ptr(i32(length))
	k := h.kernels(c, dqkv, dy, y, qkv)
	structure(c, &h).run(k.module, k.gradQ, k.grid, k.threads, k.gradShared)
	c = b.op("AttentionGrad").active(dqkv).addr(delta).active(dy).ptr(f32(lse)).active(qkv).ptr(i32(length))
	structure(c, &h).run(k.module, k.gradKV, k.grid, k.threads, k.gradShared)
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
