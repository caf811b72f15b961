package devicetest

import (
	"fmt"
	"math"

	"hgld/train/device"
)

// attend is the definition of Attention, one query after the other.
func attend(qkv *array, lengths []int, o device.Heads) (y, lse *array) {
	n, tokens, width := qkv.dims[0], qkv.dims[1], qkv.dims[2]/3
	size := width / o.Heads
	y, lse = zeros(n, tokens, width), zeros(n, o.Heads, tokens)
	for i := range lse.v {
		image, head, query := i/tokens/o.Heads, i/tokens%o.Heads, i%tokens
		keys := tokens
		if lengths != nil {
			keys = lengths[image]
		}
		if o.Causal {
			keys = min(keys, query+1)
		}
		at := func(part, token int) []float64 { // of this head
			return qkv.v[(image*tokens+token)*3*width+part*width+head*size:][:size]
		}
		scores, top, sum := make([]float64, keys), math.Inf(-1), 0.0
		for k := range scores {
			key := at(1, k)
			for j, q := range at(0, query) {
				scores[k] += q * key[j] / math.Sqrt(float64(size))
			}
			top = max(top, scores[k])
		}
		for _, v := range scores {
			sum += math.Exp(v - top)
		}
		lse.v[i] = math.Inf(-1)
		if keys > 0 {
			lse.v[i] = top + math.Log(sum)
		}
		out := y.v[(image*tokens+query)*width+head*size:][:size]
		for k, v := range scores {
			p := math.Exp(v - lse.v[i])
			for j, value := range at(2, k) {
				out[j] += p * value
			}
		}
	}
	return y, lse
}

// attentionTolerance is what the goldens' README advises for float32.
const attentionTolerance = 2e-6

// testAttention allows 1e-5 for the gradient along a direction.
func testAttention(s *suite) {
	for _, c := range []struct{ n, tokens, heads, size int }{
		{1, 1, 1, 1}, {2, 2, 3, 5}, {1, 31, 2, 33}, {4, 32, 1, 32}, {1, 33, 4, 8},
		{3, 127, 1, 2}, {1, 128, 2, 16}, {1, 129, 1, 64}, {1, 257, 2, 7}, {1, 1025, 1, 2},
	} {
		for form := range 4 {
			if c.tokens > 1000 && form != 3 {
				continue // the definition is slow
			}
			o := device.Heads{Heads: c.heads, Causal: form&1 != 0}
			var lengths []int
			if form&2 != 0 { // the first image has no keys, the second one, the last all
				lengths = make([]int, c.n)
				for i := range lengths {
					lengths[i] = []int{0, 1, (c.tokens + 1) / 2, c.tokens}[min(i, 3)]
				}
				if c.n == 1 {
					lengths[0] = (c.tokens + 1) / 2
				}
			}
			s.attention(s.activation(c.n, c.tokens, 3*c.heads*c.size), lengths, o)
		}
	}
	large := s.activation(2, 33, 3*2*16)
	for i := range large.v {
		large.v[i] = rounded(s.dtype, 16*large.v[i])
	}
	// exp of the scores would overflow; an error of 1e-7 of a score of 1,000 is one
	// of 1e-4 in its exponential
	y, lse := s.alloc(s.dtype, 2, 33, 32), s.alloc(device.F32, 2, 2, 33)
	o := device.Heads{Heads: 2}
	s.b.Attention(y, lse, s.put(s.dtype, large), absent, o)
	want, _ := attend(large, nil, o)
	s.same("large scores", y, want.v, 2e-4)
}

func (s *suite) attention(qkv *array, lengths []int, o device.Heads) {
	s.Helper()
	what := fmt.Sprintf("%v %+v lengths %v", qkv.dims, o, lengths)
	length := absent
	if lengths != nil {
		list := zeros(len(lengths))
		for i, v := range lengths {
			list.v[i] = float64(v)
		}
		length = s.put(device.I32, list)
	}
	wantY, wantLSE := attend(qkv, lengths, o)
	y, lse, packed := s.alloc(s.dtype, wantY.dims...), s.alloc(device.F32, wantLSE.dims...), s.put(s.dtype, qkv)
	s.b.Attention(y, lse, packed, length, o)
	s.same(what, y, wantY.v, attentionTolerance)
	s.same("lse "+what, lse, wantLSE.v, attentionTolerance)

	dy, dqkv := s.activation(wantY.dims...), s.alloc(s.dtype, qkv.dims...)
	s.b.AttentionGrad(dqkv, s.put(s.dtype, dy), y, lse, packed, length, o)
	s.gradient("gradient "+what, s.get(dqkv), qkv, func() float64 {
		out, _ := attend(qkv, lengths, o)
		return weighted(dy, out)
	}, max(1e-5, 8*s.unit(s.dtype)))
}
