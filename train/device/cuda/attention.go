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

// attentionOf checks the arrays of an attention. It returns its geometry and the number of
// warps.
func attentionOf(op string, y, lse, qkv, length device.Array, o device.Heads) (h heads, warps int) {
	if qkv.N != 3 || o.Heads < 1 || qkv.Dims[2]%(3*o.Heads) != 0 {
		panic(shapes(op, y, lse, qkv, length))
	}
	images, tokens, width := qkv.Dims[0], qkv.Dims[1], qkv.Dims[2]/3
	warps = images * tokens * o.Heads
	if y.Len() != images*tokens*width || !y.Contiguous() || lse.Len() != warps || !lse.Contiguous() ||
		!isVector(length, images) {
		panic(shapes(op, y, lse, qkv, length))
	}
	h = heads{
		images: int64(images), tokens: int32(tokens), heads: int32(o.Heads), size: int32(width / o.Heads),
		scale: float32(1 / math.Sqrt(float64(width/o.Heads))),
	}
	if o.Causal {
		h.causal = 1
	}
	return h, warps
}

// Attention computes softmax(q·kᵀ/√Dh)·v for each head.
func (b *Backend) Attention(dst, lse, qkv, length device.Array, o device.Heads) {
	h, warps := attentionOf("Attention", dst, lse, qkv, length, o)
	structure(b.op("Attention").active(dst).ptr(f32(lse)).active(qkv).ptr(i32(length)), &h).
		run("attention", "attention", blocks(warps, 8), 256, 0)
}

// AttentionGrad is the gradient of Attention in terms of its result y.
func (b *Backend) AttentionGrad(dqkv, dy, y, lse, qkv, length device.Array, o device.Heads) {
	h, warps := attentionOf("AttentionGrad", y, lse, qkv, length, o)
	if dqkv.Len() != qkv.Len() || !dqkv.Contiguous() || dy.Len() != y.Len() || !dy.Contiguous() {
		panic(shapes("AttentionGrad", dqkv, dy, y, lse, qkv, length))
	}
	delta := b.scratch("AttentionGrad", 4*warps)[0]
	c := b.op("AttentionGrad").active(dqkv).addr(delta).active(dy).active(y).ptr(f32(lse)).active(qkv).
		ptr(i32(length))
	structure(c, &h).run("attention", "attention_grad_q", blocks(warps, 8), 256, 0)
	c = b.op("AttentionGrad").active(dqkv).addr(delta).active(dy).ptr(f32(lse)).active(qkv).ptr(i32(length))
	structure(c, &h).run("attention", "attention_grad_kv", blocks(warps, 8), 256, 0)
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
