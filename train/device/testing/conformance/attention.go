package conformance

import (
	"fmt"
	"math"

	"hgld/internal/testing/effort"
	"hgld/train/device"
	"hgld/train/device/reference"
)

// attentionTolerance is the float32 tolerance that the goldens' README recommends.
const attentionTolerance = 2e-6

// testAttention allows an error of 1e-5 for the gradient along a direction.
func testAttention(s *suite) {
	for i, c := range []struct{ n, tokens, heads, size int }{
		{1, 1, 1, 1}, {2, 2, 3, 5}, {1, 31, 2, 33}, {4, 32, 1, 32}, {1, 33, 4, 8},
		{3, 127, 1, 2}, {1, 128, 2, 16}, {1, 129, 1, 64}, {1, 257, 2, 7}, {1, 1025, 1, 2},
		{4, 66, 1, 24}, {1, 65, 1, 72}, {1, 33, 1, 136},
	} {
		for form := range 4 {
			if c.tokens > 1000 && form != 3 || c.tokens > 100 && form != i%2*3 && !effort.Exhaustive() {
				continue // the reference implementation is slow
			}
			o := device.Heads{Heads: c.heads, Causal: form&1 != 0}
			var lengths []int
			if form&2 != 0 { // the first image has no keys, the second one, the last one all
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
	for i := range large.V {
		large.V[i] = rounded(s.dtype, 16*large.V[i])
	}
	// exp of the raw scores would overflow. An error of 1e-7 relative to a score of 1,000
	// becomes 1e-4 in its exponential.
	y, lse := s.alloc(s.dtype, 2, 33, 32), s.alloc(device.F32, 2, 2, 33)
	o := device.Heads{Heads: 2}
	s.b.Attention(y, lse, s.put(s.dtype, large), absent, o)
	want, _ := reference.Attention(large, nil, o)
	s.same("large scores", y, want.V, 2e-4)
}

func (s *suite) attention(qkv *array, lengths []int, o device.Heads) {
	s.Helper()
	what := fmt.Sprintf("%v %+v lengths %v", qkv.Dims, o, lengths)
	length := absent
	if lengths != nil {
		length = s.put(device.I32, filled(func(i int) float64 { return float64(lengths[i]) }, len(lengths)))
	}
	wantY, wantLSE := reference.Attention(qkv, lengths, o)
	y, lse := s.alloc(s.dtype, wantY.Dims...), s.alloc(device.F32, wantLSE.Dims...)
	packed := s.put(s.dtype, hidden(qkv, lengths))
	s.b.Attention(y, lse, packed, length, o)
	s.same(what, y, wantY.V, attentionTolerance)
	s.same("lse "+what, lse, wantLSE.V, attentionTolerance)

	dy, dqkv := s.activation(wantY.Dims...), s.alloc(s.dtype, qkv.Dims...)
	s.b.AttentionGrad(dqkv, s.put(s.dtype, dy), y, lse, packed, length, o)
	s.gradient("gradient "+what, s.get(dqkv), qkv, func() float64 {
		out, _ := reference.Attention(qkv, lengths, o)
		return weighted(dy, out)
	}, max(1e-5, 8*s.unit(s.dtype)))
}

// hidden returns qkv with NaN for the keys and values that no query may read.
func hidden(qkv *array, lengths []int) *array {
	packed := qkv.Clone()
	tokens, width := qkv.Dims[1], qkv.Dims[2]
	for image, keys := range lengths {
		for token := keys; token < tokens; token++ {
			for i := width / 3; i < width; i++ {
				packed.V[(image*tokens+token)*width+i] = math.NaN()
			}
		}
	}
	return packed
}
