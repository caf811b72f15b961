package conformance

import (
	"math/rand/v2"
	"testing"

	"hgld/train/device"
)

// short adds calls of the operations on activations in BF16.
func (c *caller) short() {
	full := c.dtype
	c.dtype = device.BF16
	c.shortMatrices()
	c.shortTokens()
	c.shortImages()
	c.dtype = full
}

// bf16 returns an array of activations; blank returns one for a result.
func (c *caller) bf16(dims ...int) device.Array  { return c.put(device.BF16, c.activation(dims...)) }
func (c *caller) blank(dims ...int) device.Array { return c.alloc(device.BF16, dims...) }

// products is like named, for operations whose sums may run on tensor cores, which cards may round
// differently.
func (c *caller) products(ops string, out []device.Array, run func()) {
	c.named(ops, out, run)
	c.list[len(c.list)-1].cardsDiffer = true
}

func (c *caller) shortMatrices() {
	x, y, w, out := c.bf16(130, 257), c.bf16(130, 257), c.bf16(129, 257), c.blank(130, 129)
	bias, row, one, each := c.f32(129), c.bf16(257), c.f32(1), c.f32(130)
	c.products("MatMul", []device.Array{out}, func() {
		c.b.MatMul(out, x, w, device.Mul{TransB: true, Alpha: 1, Bias: bias, Act: device.GELU})
	})
	wide, dw := c.bf16(640, 136), c.f32(136, 136)
	c.products("MatMul", []device.Array{dw}, func() { // split, to F32
		c.b.MatMul(dw, wide, wide, device.Mul{TransA: true, Alpha: 1, Beta: 1})
	})
	sum := c.blank(130, 257)
	c.named("Axpby", []device.Array{sum}, func() { c.b.Axpby(sum, 2, x, 3, y); c.b.Axpby(sum, 1, sum, 1, row) })
	scaled := c.blank(130, 257)
	c.named("Scale", []device.Array{scaled}, func() { c.b.Scale(scaled, x, each); c.b.Scale(scaled, scaled, one) })
	all, rows, columns := c.none(1), c.none(130), c.none(257)
	c.named("Sums", []device.Array{all, rows, columns}, func() {
		c.b.Sums(all, x, device.SquaresAll, 0)
		c.b.Sums(rows, x, device.SumRows, 0)
		c.b.Sums(columns, x, device.SumCols, 0)
	})
	act, dact := c.blank(130, 257), c.blank(130, 257)
	c.named("Act ActGrad", []device.Array{act, dact}, func() {
		c.b.Act(act, x, device.GELU)
		c.b.ActGrad(dact, y, x, device.GELU)
	})
}

func (c *caller) shortTokens() {
	x, dy := c.bf16(130, 257), c.bf16(130, 257)
	unit, norm, dunit := c.blank(130, 257), c.none(130), c.blank(130, 257)
	c.named("Normalize NormalizeGrad", []device.Array{unit, norm, dunit}, func() {
		c.b.Normalize(unit, norm, x, 1e-12)
		c.b.NormalizeGrad(dunit, dy, unit, norm)
	})
	y, stats, gamma, beta := c.blank(130, 257), c.none(130, 2), c.f32(257), c.f32(257)
	dx, dgamma, dbeta := c.blank(130, 257), c.f32(257), c.f32(257)
	c.named("LayerNorm LayerNormGrad", []device.Array{y, stats, dx, dgamma, dbeta}, func() {
		c.b.LayerNorm(y, stats, x, gamma, beta, 1e-5)
		c.b.LayerNormGrad(dx, dgamma, dbeta, dy, x, gamma, stats, 1)
	})
	soft, dsoft := c.blank(130, 257), c.blank(130, 257)
	c.named("Softmax SoftmaxGrad", []device.Array{soft, dsoft}, func() {
		c.b.Softmax(soft, x, true)
		c.b.SoftmaxGrad(dsoft, dy, soft, true)
	})
	loss, dz, target := c.none(130), c.blank(130, 257), c.ints(257, 130)
	c.named("SoftmaxLoss", []device.Array{loss, dz}, func() {
		c.b.SoftmaxLoss(loss, dz, x, target, device.Softmax{Temperature: 0.1, Smoothing: 0.1})
	})
	qkv, length, o := c.bf16(3, 70, 3*2*24), c.ints(70, 3), device.Heads{Heads: 2}
	mixed, lse := c.blank(3, 70, 2*24), c.none(3, 2, 70)
	dqkv, dmixed := c.blank(3, 70, 3*2*24), c.bf16(3, 70, 2*24)
	c.products("Attention AttentionGrad", []device.Array{mixed, lse, dqkv}, func() {
		c.b.Attention(mixed, lse, qkv, length, o)
		c.b.AttentionGrad(dqkv, dmixed, mixed, lse, qkv, length, o)
	})
	odd, oddLength := c.bf16(2, 40, 3*9), c.ints(40, 2) // heads at odd addresses
	oddMixed, oddLSE, oddGrad, oddSlope := c.blank(2, 40, 9), c.none(2, 3, 40), c.blank(2, 40, 27), c.bf16(2, 40, 9)
	c.named("Attention AttentionGrad", []device.Array{oddMixed, oddLSE, oddGrad}, func() {
		c.b.Attention(oddMixed, oddLSE, odd, oddLength, device.Heads{Heads: 3, Causal: true})
		c.b.AttentionGrad(oddGrad, oddSlope, oddMixed, oddLSE, odd, oddLength, device.Heads{Heads: 3, Causal: true})
	})
}

func (c *caller) shortImages() {
	x, w, dy, residual := c.bf16(2, 17, 16, 16), c.bf16(24, 3, 3, 16), c.bf16(2, 9, 8, 24), c.bf16(2, 9, 8, 24)
	shape, bias := device.ConvShape{StrideH: 2, StrideW: 2, PadH: 1, PadW: 1}, c.f32(24)
	y, dx, dw := c.blank(2, 9, 8, 24), c.bf16(2, 17, 16, 16), c.f32(24, 3, 3, 16)
	dmasked, columns := c.blank(2, 17, 16, 16), c.none(16)
	along, both, convStats := c.blank(2, 17, 16, 16), c.none(2, 16), c.none(2, 24)
	c.products("Conv ConvGradX ConvGradW", []device.Array{y, convStats, dx, dmasked, columns, along, both, dw}, func() {
		c.b.Conv(y, x, w, shape, device.Epilogue{Bias: bias, Residual: residual, Act: device.ReLU, Stats: convStats})
		c.b.ConvGradX(dx, dy, w, shape, device.GradEpilogue{Add: dx})
		c.b.ConvGradX(dmasked, dy, w, shape, device.GradEpilogue{Add: dx, Mask: x, Sums: columns})
		c.b.ConvGradX(along, dy, w, shape, device.GradEpilogue{Add: dx, X: x, Mean: columns, Sums: both})
		c.b.ConvGradW(dw, dy, x, shape, 1)
	})
	master, gamma, beta, mean, variance := c.f32(24, 3, 3, 16), c.f32(24), c.f32(24), c.f32(24), c.positive(24)
	wf, bf := c.blank(24, 3, 3, 16), c.none(24)
	c.named("FoldNorm", []device.Array{wf, bf}, func() {
		c.b.FoldNorm(wf, bf, master, gamma, beta, mean, variance, 1e-5)
	})
	normed, stats, dnormed, dgiven := c.blank(2, 9, 8, 24), c.none(2, 24), c.blank(2, 9, 8, 24), c.blank(2, 9, 8, 24)
	dg, db, kind := c.f32(24), c.f32(24), device.NormKind{Eps: 1e-5, ReLU: true}
	c.named("Norm NormGrad", []device.Array{normed, stats, dnormed, dgiven, dg, db}, func() {
		c.b.Norm(normed, stats, dy, gamma, beta, residual, kind)
		c.b.NormGrad(dnormed, dg, db, residual, dy, gamma, stats, absent, kind, 1)
		c.b.NormGrad(dgiven, absent, absent, residual, dy, gamma, stats, stats, kind, 0)
	})
	masked, dbias := c.blank(2, 9, 8, 24), c.f32(24)
	alongDy, sums := c.blank(2, 9, 8, 24), c.f32(2, 24)
	c.named("ReluGrad", []device.Array{masked, dbias, alongDy, sums}, func() {
		c.b.ReluGrad(masked, dy, device.GradEpilogue{Mask: residual, Sums: dbias}, 1)
		c.b.ReluGrad(alongDy, dy, device.GradEpilogue{Mask: residual, X: residual, Mean: dbias, Sums: sums}, 1)
	})
	pooled, dpooled, up := c.blank(2, 5, 4, 24), c.blank(2, 9, 8, 24), c.bf16(2, 5, 4, 24)
	window := device.PoolShape{H: 3, W: 3, StrideH: 2, StrideW: 2, PadH: 1, PadW: 1}
	c.named("Pool PoolGrad", []device.Array{pooled, dpooled}, func() {
		c.b.Pool(pooled, dy, window)
		c.b.PoolGrad(dpooled, up, dy, pooled, window)
	})
	means, dmeans, p := c.blank(2, 24), c.bf16(2, 24), c.put(device.F32, flag(3))
	dm, dp := c.blank(2, 9, 8, 24), c.f32(1)
	c.named("GeM GeMGrad", []device.Array{means, dm, dp}, func() {
		c.b.GeM(means, dy, p, 1e-6)
		c.b.GeMGrad(dm, dp, dmeans, dy, means, p, 1e-6, 1)
	})
	small := c.blank(2, 5, 7, 16)
	c.named("Interpolate", []device.Array{small}, func() {
		c.b.Interpolate(small, x, device.Interpolation{AlignCorners: true})
	})
	raw, pixels := c.put(device.U8, c.whole(3, 20, 19, 3)), c.blank(3, 17, 16, 4)
	crop := c.put(device.I32, &array{Dims: []int{3, 3}, V: []float64{1, 2, 0, 0, 0, 1, 2, 1, 1}})
	c.named("Pixels", []device.Array{pixels}, func() {
		c.b.Pixels(pixels, raw, crop, device.Pixel{Std: [3]float32{1, 2, 3}})
	})
}

// Outcome is what a call wrote.
type Outcome struct {
	Ops         []string // the operations
	CardsDiffer bool     // another kind of card may write other bytes: see products
	Results     [][]byte // each array that was written
}

// ShortOutcomes calls every operation on activations in BF16 once, on fixed arrays.
func ShortOutcomes(t *testing.T, b device.Backend) (all []Outcome) {
	s := &suite{T: t, b: b, dtype: device.BF16, r: rand.New(rand.NewPCG(5, 1))}
	c := &caller{suite: s, b: b}
	c.short()
	for i := range c.list {
		c.list[i].run()
		all = append(all, Outcome{c.list[i].ops, c.list[i].cardsDiffer, s.results(&c.list[i])})
	}
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	for _, buf := range s.buffers {
		b.Free(buf)
	}
	return all
}
