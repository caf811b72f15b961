package cpu

import (
	"math"

	"hgld/internal/blas"
	"hgld/internal/vec"
	"hgld/train/device"
)

// attention is the geometry of an Attention. The queries, keys and values of a head are
// views of the packed qkv: matrices with one row for each token and size columns. Rows lie
// stride elements apart.
type attention struct {
	lib                         blas.Library
	qkv, lse                    []float32
	length                      []int32 // nil: all tokens are keys
	images, tokens, heads, size int
	width, stride               int // from token to token of y and of qkv
	scale                       float32
	causal                      bool
	block                       int // queries whose scores are held at once
}

func (b *Backend) attentionOf(op string, y, lse, qkv, length device.Array, o device.Heads) attention {
	if qkv.N != 3 || o.Heads < 1 || qkv.Dims[2]%(3*o.Heads) != 0 {
		panic(shapes(op, y, lse, qkv, length))
	}
	a := attention{
		lib: b.blas, qkv: f32(qkv), lse: f32(lse), length: i32(length),
		images: qkv.Dims[0], tokens: qkv.Dims[1], heads: o.Heads, size: qkv.Dims[2] / (3 * o.Heads),
		width: qkv.Dims[2] / 3, stride: qkv.Dims[2], causal: o.Causal,
	}
	if y.Len() != a.images*a.tokens*a.width || !y.Contiguous() || lse.Len() != a.images*a.heads*a.tokens ||
		!lse.Contiguous() || !device.AreVectors(a.images, length) {
		panic(shapes(op, y, lse, qkv, length))
	}
	a.scale = float32(1 / math.Sqrt(float64(a.size)))
	a.block = queryBlock(a.tokens)
	return a
}

// queryBlock returns the size of a block of queries: at most 128, and a multiple of the
// rows of a BLAS kernel. The scores of 128 queries with 1,000 keys take half a megabyte,
// which fits an L2 cache.
func queryBlock(tokens int) int {
	const most, rows = 128, 8
	blocks := max(1, ceil(tokens, most))
	return ceil(ceil(max(1, tokens), blocks), rows) * rows
}

// view returns the queries (part 0), keys (1) or values (2) of a head in an array packed like
// qkv, starting at a token.
func (a *attention) view(packed []float32, part, image, head, token int) []float32 {
	return packed[(image*a.tokens+token)*a.stride+part*a.width+head*a.size:]
}

// seen returns the number of keys that the queries before last attend to.
func (a *attention) seen(image, last int) int {
	keys := a.tokens
	if a.length != nil {
		keys = min(max(int(a.length[image]), 0), keys)
	}
	if a.causal {
		keys = min(keys, last)
	}
	return keys
}

// sees returns how many of the first keys a query attends to.
func (a *attention) sees(query, keys int) int {
	if a.causal {
		return min(keys, query+1)
	}
	return keys
}

// scores computes q·kᵀ/√Dh of the queries [first, last) with the first keys. It writes the
// scores to s, one row for each query, and the queries divided by √Dh to q. Dividing the
// queries is cheaper than dividing the scores.
func (a *attention) scores(s, q []float32, image, head, first, last, keys int) {
	from := a.view(a.qkv, 0, image, head, first)
	for r := range last - first {
		multiply(q[r*a.size:][:a.size], a.scale, from[r*a.stride:][:a.size])
	}
	a.lib.Sgemm(false, true, last-first, keys, a.size, 1, q, a.size, a.view(a.qkv, 1, image, head, 0), a.stride,
		0, s, keys)
}

// Attention computes softmax(q·kᵀ/√Dh)·v for each head, one block of queries at a time. It
// divides by the sum of the exponentials after the product with v, because a row then has
// Dh elements instead of T.
func (b *Backend) Attention(dst, lse, qkv, length device.Array, o device.Heads) {
	a := b.attentionOf("Attention", dst, lse, qkv, length, o)
	blocks := ceil(a.tokens, a.block)
	memory := scratch[float32](b, "attention", b.Threads()*a.block*(a.tokens+a.size+1))
	split(b, a.images*a.heads*blocks, 1, attentionTask{a, f32(dst), memory, blocks})
}

type attentionTask struct {
	attention
	y, memory []float32 // memory of a block: scores, queries, and a number for each row
	blocks    int
}

func (t *attentionTask) span(worker, lo, hi int) {
	n := t.block * (t.tokens + t.size + 1)
	memory := t.memory[worker*n:][:n]
	sums, memory := memory[:t.block], memory[t.block:]
	q, s := memory[:t.block*t.size], memory[t.block*t.size:]
	for i := lo; i < hi; i++ {
		head, first := i/t.blocks, i%t.blocks*t.block
		t.queries(s, q, sums, head/t.heads, head%t.heads, first, min(first+t.block, t.tokens))
	}
}

// queries computes the rows [first, last) of y in the columns of a head.
func (t *attentionTask) queries(s, q, sums []float32, image, head, first, last int) {
	keys := t.seen(image, last)
	y := t.y[(image*t.tokens+first)*t.width+head*t.size:]
	lse := t.lse[(image*t.heads+head)*t.tokens:][first:last]
	if keys == 0 {
		for r := range lse {
			lse[r] = float32(math.Inf(-1))
			clear(y[r*t.width:][:t.size])
		}
		return
	}
	t.scores(s, q, image, head, first, last, keys)
	for r := range lse {
		row := s[r*keys:][:keys]
		n := t.sees(first+r, keys)
		top := maximum(row[:n])
		sum := vec.ExpSub(row[:n], row[:n], top)
		clear(row[n:])
		lse[r] = float32(float64(top) + math.Log(float64(sum)))
		sums[r] = 1 / sum
	}
	t.lib.Sgemm(false, false, last-first, t.size, keys, 1, s, keys, t.view(t.qkv, 2, image, head, 0), t.stride, 0,
		y, t.width)
	for r := range lse {
		line := y[r*t.width:][:t.size]
		multiply(line, sums[r], line)
	}
}

// maximum returns the greatest element, or −Inf if there is none. NaN exceeds any number.
// It folds lines of 64 elements into one line, and then halves that line.
func maximum(x []float32) float32 {
	var top [64]float32
	n := copy(top[:], x)
	for rest := x[n:]; len(rest) > 0; {
		m := min(n, len(rest))
		vec.Maximum(top[:m], rest[:m])
		rest = rest[m:]
	}
	for n > 8 {
		half := n / 2
		vec.Maximum(top[:half], top[n-half:n])
		n -= half
	}
	most := float32(math.Inf(-1))
	for _, v := range top[:n] {
		most = max(most, v)
	}
	return most
}
