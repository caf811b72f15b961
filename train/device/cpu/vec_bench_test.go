package cpu

import (
	"math/rand/v2"
	"testing"

	"hgld/train/device"
)

// BenchmarkElementwise measures each operation's traffic on all threads and compares it with a
// copy. Traffic counts the bytes that the operation must read and write once. The activations
// are those of the first stage of a ResNet on 32 images of 64 × 64 (33 MB with all operands,
// more than an L2 cache) and of a ViT-S block.
func BenchmarkElementwise(b *testing.B) {
	back := New(0)
	m := maker{back, rand.New(rand.NewPCG(1, 1))}
	const rows, c, tokens, width = 32 * 32 * 32, 64, 8 * 197, 1536
	none := device.Array{}
	x, y, dy, dx, res := m.f32(rows, c), m.f32(rows, c), m.f32(rows, c), m.f32(rows, c), m.f32(rows, c)
	gamma, beta, stats, dgamma, dbeta := m.f32(c), m.f32(c), m.f32(2, c), m.f32(c), m.f32(c)
	kind := device.NormKind{Eps: 1e-5, ReLU: true}
	t, u, v := m.f32(tokens, width), m.f32(tokens, width), m.f32(tokens, width)
	wide, wider, widest, lines := m.f32(width), m.f32(width), m.f32(width), m.f32(tokens, 2)
	image, pooled := x.Reshape(32, 32, 32, c), m.f32(32, 16, 16, c)
	pooledGrad := m.f32(32, 16, 16, c)
	window := device.PoolShape{H: 3, W: 3, StrideH: 2, StrideW: 2, PadH: 1, PadW: 1}
	means, meanGrad, p, dp := m.f32(32, c), m.f32(32, c), m.f32(1), m.f32(1)
	f32(p)[0] = 3
	hyper := m.f32(device.HyperLen)
	for i := range f32(hyper) {
		f32(hyper)[i] = 0.5
	}
	flag := m.i32(1, 1)
	const image1, row1 = 4 * rows * c, 4 * tokens * width
	for _, e := range []struct {
		name  string
		bytes int64
		run   func()
	}{
		{"copy", 2 * image1, func() { back.Copy(dx, x) }},
		{"norm", 3 * image1, func() { back.Norm(y, stats, x, gamma, beta, none, kind) }},
		{"norm residual", 4 * image1, func() { back.Norm(y, stats, x, gamma, beta, res, kind) }},
		{"norm grad", 5 * image1, func() { back.NormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, none, kind, 0) }},
		{"norm grad with sums", 3 * image1, func() {
			back.NormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, stats, kind, 0)
		}},
		{"relu", 2 * image1, func() { back.Act(y, x, device.ReLU) }},
		{"relu grad", 3 * image1, func() {
			back.ReluGrad(dx, dy, device.GradEpilogue{Mask: y, Sums: dbeta}, 0)
		}},
		{"axpby", 3 * image1, func() { back.Axpby(dx, 1, x, 1, y) }},
		{"sum columns", image1, func() { back.Sums(dbeta, x, device.SumCols, 0) }},
		{"squares", image1, func() { back.Sums(dp, x, device.SquaresAll, 0) }},
		{"guard", image1, func() { back.Guard(flag, x) }},
		{"pool", image1 + image1/4, func() { back.Pool(pooled, image, window) }},
		{"pool grad", 2*image1 + image1/2, func() {
			back.PoolGrad(dx.Reshape(32, 32, 32, c), pooledGrad, image, pooled,
				window)
		}},
		{"gem", image1, func() { back.GeM(means, image, p, 1e-6) }},
		{"gem grad", 2 * image1, func() { back.GeMGrad(dx.Reshape(32, 32, 32, c), dp, meanGrad, image, means, p, 1e-6, 0) }},
		{"adam", 7 * image1, func() {
			back.Adam(x, y, res, dy, none, hyper, none, device.AdamKind{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8})
		}},
		{"sgd", 5 * image1, func() { back.SGD(x, y, dy, none, hyper, none, device.SGDKind{Momentum: 0.9}) }},
		{"average", 3 * image1, func() { back.Average(x, y, p, none) }},
		{"layer norm", 2 * row1, func() { back.LayerNorm(u, lines, t, wide, wider, 1e-6) }},
		{"layer norm grad", 3 * row1, func() { back.LayerNormGrad(u, wider, widest, v, t, wide, lines, device.Array{}, 0) }},
		{"gelu", 2 * row1, func() { back.Act(u, t, device.GELU) }},
		{"gelu grad", 3 * row1, func() { back.ActGrad(u, v, t, device.GELU) }},
		{"quick gelu", 2 * row1, func() { back.Act(u, t, device.QuickGELU) }},
		{"normalize", 2 * row1, func() { back.Normalize(u, none, t, 1e-12) }},
	} {
		b.Run(e.name, func(b *testing.B) {
			b.SetBytes(e.bytes)
			for b.Loop() {
				e.run()
			}
		})
	}
}
