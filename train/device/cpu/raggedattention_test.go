package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"hgld/train/device"
)

// ways returns n texts of random lengths whose tokens are scattered over a matrix. Each token
// is a query whose keys are the tokens of its text up to itself.
func ways(r *rand.Rand, n, most int) (rows, keys, spans []int32) {
	for range n {
		from := int32(len(keys))
		for range 1 + r.IntN(most) {
			keys = append(keys, int32(r.IntN(5*n)))
			rows = append(rows, keys[len(keys)-1])
			spans = append(spans, from, int32(len(keys)))
		}
	}
	return rows, keys, spans
}

func indices(b *Backend, values []int32, dims ...int) device.Array {
	a := device.New(b, device.I32, dims...)
	copy(i32(a), values)
	return a
}

// The tolerance is that of Attention, 2e-6.
func TestRaggedAttentionMatchesItsDefinition(t *testing.T) {
	for _, shape := range []struct{ heads, size int }{{1, 1}, {2, 7}, {3, 8}, {12, 32}} {
		b := New(2)
		m := &maker{b, rand.New(rand.NewPCG(1, 2))}
		rows, keys, spans := ways(m.r, 9, 40)
		d := shape.heads * shape.size
		qkv, dst := m.f32(45, 3*d), m.f32(len(rows), d)
		b.RaggedAttention(dst, qkv, indices(b, rows, len(rows)), indices(b, keys, len(keys)), indices(b, spans, len(rows), 2),
			shape.heads)
		at := func(row int32, part, head int) []float32 {
			return f32(qkv)[int(row)*3*d+part*d+head*shape.size:][:shape.size]
		}
		diff, size := 0.0, 0.0
		for i, row := range rows {
			for h := range shape.heads {
				want, sum := make([]float64, shape.size), 0.0
				for _, k := range keys[spans[2*i]:spans[2*i+1]] {
					score := 0.0
					for j, q := range at(row, 0, h) {
						score += float64(q) * float64(at(k, 1, h)[j]) / math.Sqrt(float64(shape.size))
					}
					p := math.Exp(score)
					sum += p
					for j, v := range at(k, 2, h) {
						want[j] += p * float64(v)
					}
				}
				for j, v := range f32(dst)[i*d+h*shape.size:][:shape.size] {
					e := float64(v) - want[j]/sum
					diff, size = diff+e*e, size+want[j]/sum*want[j]/sum
				}
			}
		}
		if e := math.Sqrt(diff / size); !(e <= 2e-6) {
			t.Errorf("%+v: relative error %.3g", shape, e)
		}
	}
}

func TestRaggedAttentionPanicsOnMissingKeys(t *testing.T) {
	b := New(1)
	m := &maker{b, rand.New(rand.NewPCG(3, 4))}
	qkv, dst := m.f32(4, 24), m.f32(1, 8)
	for name, c := range map[string]struct{ row, key, upto int32 }{"row": {4, 0, 1}, "key": {0, -1, 1}, "span": {0, 0, 2},
		"no keys": {0, 0, 0}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			b.RaggedAttention(dst, qkv, indices(b, []int32{c.row}, 1), indices(b, []int32{c.key}, 1),
				indices(b, []int32{0, c.upto}, 1, 2), 2)
		}()
	}
}
