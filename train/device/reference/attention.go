package reference

import (
	"math"

	"hgld/train/device"
)

// Attention computes softmax(q·kᵀ/√Dh)·v, one query at a time, and the logarithms of the
// softmax's denominators. qkv is packed as in device.Dense. lengths holds the number of keys of
// each image and may be nil.
func Attention(qkv *Array, lengths []int, o device.Heads) (y, lse *Array) {
	n, tokens, width := qkv.Dims[0], qkv.Dims[1], qkv.Dims[2]/3
	size := width / o.Heads
	root := math.Sqrt(float64(size))
	y, lse = Zeros(n, tokens, width), Zeros(n, o.Heads, tokens)
	for i := range lse.V {
		image, head, query := i/tokens/o.Heads, i/tokens%o.Heads, i%tokens
		keys := tokens
		if lengths != nil {
			keys = lengths[image]
		}
		if o.Causal {
			keys = min(keys, query+1)
		}
		at := func(part, token int) []float64 { // of this head
			return qkv.V[(image*tokens+token)*3*width+part*width+head*size:][:size]
		}
		scores, top, sum := make([]float64, keys), math.Inf(-1), 0.0
		for k := range scores {
			key := at(1, k)
			for j, q := range at(0, query) {
				scores[k] += q * key[j] / root
			}
			top = max(top, scores[k])
		}
		for _, v := range scores {
			sum += math.Exp(v - top)
		}
		lse.V[i] = math.Inf(-1)
		if keys > 0 {
			lse.V[i] = top + math.Log(sum)
		}
		out := y.V[(image*tokens+query)*width+head*size:][:size]
		for k, v := range scores {
			p := math.Exp(v - lse.V[i])
			for j, value := range at(2, k) {
				out[j] += p * value
			}
		}
	}
	return y, lse
}

// RaggedAttention is attention of single queries, each over its own list of keys; see
// device.Ragged. rows may be nil.
func RaggedAttention(qkv, rows, keys, spans *Array, heads int) *Array {
	d := qkv.Cols() / 3
	size := d / heads
	y := Zeros(spans.Rows(), d)
	for i := range y.Rows() {
		row, own := i, keys.V[int(spans.V[2*i]):int(spans.V[2*i+1])]
		if rows != nil {
			row = int(rows.V[i])
		}
		for h := range heads {
			q, sum := qkv.Row(row)[h*size:][:size], 0.0
			for _, k := range own {
				score := 0.0
				for j, v := range qkv.Row(int(k))[d+h*size:][:size] {
					score += q[j] * v / math.Sqrt(float64(size))
				}
				sum += math.Exp(score)
				for j, v := range qkv.Row(int(k))[2*d+h*size:][:size] {
					y.Row(i)[h*size+j] += math.Exp(score) * v
				}
			}
			for j := range size {
				y.Row(i)[h*size+j] /= sum
			}
		}
	}
	return y
}
