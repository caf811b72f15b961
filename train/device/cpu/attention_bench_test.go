package cpu

import (
	"math/rand/v2"
	"testing"

	"hgld/train/device"
)

// The attention of DeiT-S over a batch of 16 images of 224×224.
func BenchmarkAttention(b *testing.B) {
	const n, tokens, heads, size = 16, 198, 6, 64
	m := maker{New(0), rand.New(rand.NewPCG(1, 1))}
	qkv, dqkv := m.f32(n, tokens, 3*heads*size), m.f32(n, tokens, 3*heads*size)
	y, dy, lse := m.f32(n, tokens, heads*size), m.f32(n, tokens, heads*size), m.f32(n, heads, tokens)
	o := device.Heads{Heads: heads}
	b.Run("forward", func(b *testing.B) {
		for b.Loop() {
			m.b.Attention(y, lse, qkv, device.Array{}, o)
		}
		b.ReportMetric(4*n*heads*tokens*tokens*size*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	})
	b.Run("gradient", func(b *testing.B) {
		for b.Loop() {
			m.b.AttentionGrad(dqkv, dy, y, lse, qkv, device.Array{}, o)
		}
		b.ReportMetric(10*n*heads*tokens*tokens*size*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	})
}
