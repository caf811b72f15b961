package nn_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
)

// normal returns n numbers with mean 0 and variance 1.
func normal(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// differences compares the gradient of Σ u·f(x), u random, with central
// differences along random directions, for the input and for every group of
// parameters of s. In float32 a step of 3e-3 leaves about 1e-4 from rounding and,
// where norms follow one another, as much from the third derivative; f must be
// smooth.
func differences(t *testing.T, s *nn.Store, f nn.Layer, dims ...int) {
	t.Helper()
	const step, tolerance = 3e-3, 2e-3
	b := backend()
	s.Build(b, 7)
	r := rand.New(rand.NewPCG(1, 2))
	for _, g := range s.Groups { // so that no γ is 1 and no β is 0
		for _, p := range g.Params {
			b.Axpby(p.Value, 1, p.Value, 0.2, upload(b, normal(r, p.Value.Len()), p.Value.Shape()...))
		}
	}
	x := upload(b, normal(r, size(dims)), dims...)
	tape := grad.NewTape(b, device.NewArena(b))
	leaf := tape.Leaf(x, device.New(b, device.F32, dims...))
	y := tape.Keep(f(tape, leaf))
	u := normal(r, y.Value.Len())
	tape.Backward(y, upload(b, u, y.Value.Shape()...))
	value := func() float64 {
		tape.Replay()
		sum := 0.0
		for i, v := range download(t, b, y.Value) {
			sum += float64(u[i]) * float64(v)
		}
		return sum
	}
	check := func(what string, w, dw device.Array) {
		g, w0 := download(t, b, dw), download(t, b, w)
		for range 3 {
			d := normal(r, len(g))
			slope, length := 0.0, 0.0
			for i, v := range g {
				slope += float64(v) * float64(d[i])
				length += float64(v) * float64(v)
			}
			shifted := func(h float64) float64 {
				moved := make([]float32, len(w0))
				for i := range moved {
					moved[i] = w0[i] + float32(h*float64(d[i]))
				}
				put(b, w, moved)
				return value()
			}
			got := (shifted(step) - shifted(-step)) / (2 * step)
			put(b, w, w0)
			if math.Abs(got-slope) > tolerance*math.Sqrt(length) {
				t.Errorf("%s: slope %.6g by differences, %.6g by the tape (length %.4g)", what, got, slope, math.Sqrt(length))
			}
		}
		value()
	}
	check("input", x, leaf.Grad)
	for _, g := range s.Groups {
		check(g.Name, g.Values, g.Grads)
	}
}

func size(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

func TestGradientOfConvNormWithBatchStatistics(t *testing.T) {
	s := nn.NewStore()
	c := s.Group("all")
	conv := nn.NewConv(c.In("conv"), 4, 6, 3, nn.Square(2, 1))
	norm := nn.NewBatchNorm(c.In("bn"), 6)
	differences(t, s, func(t *grad.Tape, x *grad.Var) *grad.Var {
		return nn.ConvNormAct(t, x, conv, norm, nil, device.Identity)
	}, 3, 7, 5, 4)
}

func TestGradientOfFoldedConvNormWithResidual(t *testing.T) {
	s := nn.NewStore()
	c := s.Group("all")
	conv := nn.NewConv(c.In("conv"), 4, 4, 3, nn.Square(1, 1))
	norm := nn.NewBatchNorm(c.In("bn"), 4)
	norm.Frozen = true
	differences(t, s, func(t *grad.Tape, x *grad.Var) *grad.Var {
		return nn.ConvNormAct(t, x, conv, norm, x, device.Identity)
	}, 2, 5, 6, 4)
}

func TestGradientOfEmbeddingHead(t *testing.T) {
	s := nn.NewStore()
	c := s.Group("all")
	gem := nn.NewGeM(c.In("pool"))
	norm := nn.NewLayerNorm(c.In("norm"), 8, 1e-5)
	fc := nn.NewLinear(c.In("fc"), 8, 5)
	shift := c.In("shift").Param("bias", nn.Constant(6), 8) // keeps GeM off its ε
	differences(t, s, func(t *grad.Tape, x *grad.Var) *grad.Var {
		moved := t.New(device.F32, x.Value.Shape()...)
		v := shift.Var(t)
		t.Do(func(b device.Backend) { b.Axpby(moved.Value, 1, x.Value, 1, v.Value) })
		t.Back(func(b device.Backend) {
			b.Copy(t.Into(x), t.Grad(moved))
			if dv, acc := t.Onto(v); !dv.Absent() {
				all := t.Grad(moved)
				b.Sums(dv, all.Reshape(all.Rows(), 8), device.SumCols, acc)
			}
		})
		return nn.Chain(t, moved, gem.Forward, norm.Forward, fc.Forward,
			func(t *grad.Tape, x *grad.Var) *grad.Var { return nn.Normalize(t, x, 1e-12) })
	}, 3, 3, 2, 8)
}

func TestGradientOfLinearUsedTwice(t *testing.T) {
	s := nn.NewStore()
	fc := nn.NewLinear(s.Group("all"), 6, 6)
	differences(t, s, func(t *grad.Tape, x *grad.Var) *grad.Var {
		return nn.Add(t, fc.Forward(t, fc.Forward(t, x)), x)
	}, 4, 6)
}

func TestGradientOfLinearWithLayerScale(t *testing.T) {
	s := nn.NewStore()
	c := s.Group("all")
	fc := nn.NewLinear(c, 6, 5)
	fc.Gamma = c.In("ls").Param("gamma", nn.Constant(0.5), 5)
	differences(t, s, fc.Forward, 4, 3, 6)
}

// A layer that is used twice adds to the gradients of its first use.
func TestGradientOfLayerScaleUsedTwice(t *testing.T) {
	s := nn.NewStore()
	c := s.Group("all")
	fc := nn.NewLinear(c, 6, 6)
	fc.Gamma = c.In("ls").Param("gamma", nn.Constant(0.5), 6)
	differences(t, s, func(t *grad.Tape, x *grad.Var) *grad.Var { return fc.Forward(t, fc.Forward(t, x)) }, 4, 6)
}

func TestGradientOfAttentionPool(t *testing.T) {
	s := nn.NewStore()
	pool := nn.NewAttentionPool(s.Group("all").Starting(nn.Normal(0.3), nn.Constant(0)), 8, 2, 16, 1e-6)
	differences(t, s, pool.Forward, 3, 5, 8)
}

func TestGradientOfTokensWithRegisters(t *testing.T) {
	for _, shape := range []nn.PatchShape{
		{Patch: 2, Width: 6, H: 4, W: 4, Registers: 3},
		{Patch: 2, Width: 6, H: 4, W: 4, NoClass: true},
		{Patch: 2, Width: 6, H: 4, W: 4, NoBias: true},
	} {
		s := nn.NewStore()
		differences(t, s, nn.NewPatchEmbed(s.Group("all"), shape).Forward, 2, 4, 4, nn.ImageChannels)
	}
}
