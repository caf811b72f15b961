package conformance

import (
	"fmt"
	"math"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// masks returns n texts of random lengths, up to most, whose tokens are scattered over the
// rows of a matrix. Each token is a query whose keys are the tokens of its text up to itself.
func (s *suite) masks(n, most, rows int) (queries, keys, spans *array) {
	queries, keys, spans = zeros(0), zeros(0), zeros(0)
	for range n {
		from := float64(len(keys.V))
		for range 1 + s.r.IntN(most) {
			keys.V = append(keys.V, float64(s.r.IntN(rows)))
			queries.V = append(queries.V, keys.V[len(keys.V)-1])
			spans.V = append(spans.V, from, float64(len(keys.V)))
		}
	}
	queries.Dims, keys.Dims, spans.Dims = []int{len(queries.V)}, []int{len(keys.V)}, []int{len(queries.V), 2}
	return queries, keys, spans
}

// testRagged has the tolerances of Attention. It is skipped if the device is not Ragged.
func testRagged(s *suite) {
	ragged, able := s.b.(device.Ragged)
	if !able {
		return
	}
	for _, c := range []struct{ texts, most, rows, heads, size int }{
		{1, 1, 1, 1, 1}, {9, 40, 45, 2, 7}, {5, 3, 33, 3, 8}, {31, 9, 129, 12, 32}, {2, 130, 65, 1, 64},
	} {
		rows, keys, spans := s.masks(c.texts, c.most, c.rows)
		d := c.heads * c.size
		qkv := s.activation(c.rows, 3*d)
		deviceKeys, deviceSpans := s.put(device.I32, keys), s.put(device.I32, spans)
		got := s.view(s.dtype, len(rows.V), d)
		ragged.RaggedAttention(got, s.putView(s.dtype, qkv), s.put(device.I32, rows), deviceKeys, deviceSpans, c.heads)
		s.same(fmt.Sprint(c), got, reference.RaggedAttention(qkv, rows, keys, spans, c.heads).V, attentionTolerance)
		// Without rows, every row of qkv is a query.
		gathered := zeros(len(rows.V), 3*d)
		for i, row := range rows.V {
			copy(gathered.Row(i), qkv.Row(int(row)))
		}
		own := keys.Clone()
		for i, k := range own.V {
			own.V[i] = math.Mod(k, float64(len(rows.V)))
		}
		ragged.RaggedAttention(got, s.putView(s.dtype, gathered), absent, s.put(device.I32, own), deviceSpans, c.heads)
		s.same(fmt.Sprint(c, " every row"), got, reference.RaggedAttention(gathered, nil, own, spans, c.heads).V,
			attentionTolerance)
	}
}

// testPack expects the same bytes as from a product without packing. It is skipped if the
// device is not a Packer.
func testPack(s *suite) {
	packer, able := s.b.(device.Packer)
	if !able {
		return
	}
	packed := 0
	for _, transB := range []bool{false, true} {
		for _, c := range []struct{ rows, k, n int }{{1, 8, 32}, {7, 300, 96}, {130, 65, 257}, {31, 128, 1056}} {
			w := s.activation(c.k, c.n)
			if transB {
				w = s.activation(c.n, c.k)
			}
			x, plain, rearranged := s.put(s.dtype, s.activation(c.rows, c.k)), s.put(s.dtype, w), s.put(s.dtype, w)
			bias, before := s.put(device.F32, s.master(c.n)), s.activation(c.rows, c.n)
			did := packer.Pack(rearranged, transB)
			for _, m := range []device.Mul{
				{TransB: transB, Alpha: 1, Bias: bias, Act: device.GELU}, {TransB: transB, Alpha: 1, Beta: 1},
			} {
				want, got := s.put(s.dtype, before), s.put(s.dtype, before)
				s.b.MatMul(want, x, plain, m)
				s.b.MatMul(got, x, rearranged, m)
				s.equal(fmt.Sprint(c, " transposed ", transB, ", packed ", did), got, s.get(want))
			}
			if did {
				packed++
			}
		}
	}
	s.Logf("%d of 8 matrices are packed", packed)
}
