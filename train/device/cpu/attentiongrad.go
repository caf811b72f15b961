package cpu

import (
	"hgld/internal/vec"
	"hgld/train/device"
)

// AttentionGrad computes the gradient of Attention. For each block of queries it computes
// the probabilities P = exp(q·kᵀ/√Dh − lse) again, and then
//
//	dv = Pᵀ·dy, dP = dy·vᵀ, dS = P∘(dP − δ), dq = dS·k/√Dh, dk = dSᵀ·q/√Dh,
//
// where δ is the sum of P∘dP over the keys. It equals the scalar product of the rows of dy
// and y (Dao et al., "FlashAttention", NeurIPS 2022, appendix B.2). A thread processes
// whole heads, because their blocks add to the same dk and dv.
func (b *Backend) AttentionGrad(dqkv, dy, y, lse, qkv, length device.Array, o device.Heads) {
	a := b.attentionOf("AttentionGrad", y, lse, qkv, length, o)
	if dqkv.Len() != qkv.Len() || !dqkv.Contiguous() || dy.Len() != y.Len() || !dy.Contiguous() {
		panic(shapes("AttentionGrad", dqkv, dy, y, lse, qkv, length))
	}
	memory := scratch[float32](b, "attentiongrad", b.Threads()*a.block*(2*a.tokens+a.size))
	split(b, a.images*a.heads, 1, attentionGradTask{a, f32(dqkv), f32(dy), f32(y), memory})
}

type attentionGradTask struct {
	attention
	dqkv, dy, y []float32
	memory      []float32 // P, dP and queries of a block
}

func (t *attentionGradTask) span(worker, lo, hi int) {
	n := t.block * (2*t.tokens + t.size)
	memory := t.memory[worker*n:][:n]
	q, memory := memory[:t.block*t.size], memory[t.block*t.size:]
	p, dp := memory[:t.block*t.tokens], memory[t.block*t.tokens:]
	for i := lo; i < hi; i++ {
		image, head := i/t.heads, i%t.heads
		for part := 1; part < 3; part++ {
			for token := range t.tokens {
				clear(t.view(t.dqkv, part, image, head, token)[:t.size])
			}
		}
		for first := 0; first < t.tokens; first += t.block {
			t.queries(p, dp, q, image, head, first, min(first+t.block, t.tokens))
		}
	}
}

// queries adds what the queries [first, last) contribute to dk and dv, and writes their
// dq.
func (t *attentionGradTask) queries(p, dp, q []float32, image, head, first, last int) {
	keys, rows := t.seen(image, last), last-first
	dq := t.view(t.dqkv, 0, image, head, first)
	if keys == 0 {
		for r := range rows {
			clear(dq[r*t.stride:][:t.size])
		}
		return
	}
	at := (image*t.tokens+first)*t.width + head*t.size
	dy, y := t.dy[at:], t.y[at:]
	lse := t.lse[(image*t.heads+head)*t.tokens:][first:last]
	t.scores(p, q, image, head, first, last, keys)
	for r := range rows {
		row := p[r*keys:][:keys]
		n := t.sees(first+r, keys)
		vec.ExpSub(row[:n], row[:n], lse[r])
		clear(row[n:])
	}
	t.lib.Sgemm(true, false, keys, t.size, rows, 1, p, keys, dy, t.width, 1, t.view(t.dqkv, 2, image, head, 0), t.stride)
	t.lib.Sgemm(false, true, rows, keys, t.size, 1, dy, t.width, t.view(t.qkv, 2, image, head, 0), t.stride, 0, dp, keys)
	for r := range rows {
		delta := vec.Dot(dy[r*t.width:][:t.size], y[r*t.width:][:t.size])
		scoreGrad(dp[r*keys:][:keys], p[r*keys:][:keys], float32(delta))
	}
	t.lib.Sgemm(false, false, rows, t.size, keys, 1, dp, keys, t.view(t.qkv, 1, image, head, 0), t.stride, 0, dq, t.stride)
	for r := range rows {
		line := dq[r*t.stride:][:t.size]
		multiply(line, t.scale, line)
	}
	t.lib.Sgemm(true, false, keys, t.size, rows, 1, dp, keys, q, t.size, 1, t.view(t.dqkv, 1, image, head, 0), t.stride)
}

// scoreGrad computes dp = p·(dp − delta), the gradient of a row of scores.
func scoreGrad(dp, p []float32, delta float32) {
	dp = dp[:len(p)]
	for i, v := range p {
		dp[i] = v * (dp[i] - delta)
	}
}
