package nn_test

import (
	"math/rand/v2"
	"testing"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
	"hgld/train/nn/testing/nntest"
)

// convNormActPlain is the definition of nn.ConvNormAct: one operation after the other.
func convNormActPlain(t *grad.Tape, x *grad.Var, conv *nn.Conv, norm *nn.BatchNorm, residual *grad.Var,
	act device.Func) *grad.Var {
	y := norm.Forward(t, conv.Forward(t, x))
	if residual != nil {
		y = nn.Add(t, y, residual)
	}
	if act == device.ReLU {
		y = relu(t, y)
	}
	return y
}

// relu is max(x, 0), with gradient 0 at 0.
func relu(t *grad.Tape, x *grad.Var) *grad.Var {
	y := t.New(x.Value.Type, x.Value.Shape()...)
	t.Do(func(b device.Backend) { b.Act(y.Value, x.Value, device.ReLU) })
	t.Back(func(b device.Backend) {
		if dx := t.Into(x); !dx.Absent() {
			b.ReluGrad(dx, t.Grad(y), device.GradEpilogue{Mask: y.Value}, 0)
		}
	}, y)
	return y
}

type form = func(*grad.Tape, *grad.Var, *nn.Conv, *nn.BatchNorm, *grad.Var, device.Func) *grad.Var

// runForm runs one form of conv, norm, residual and ReLU forward and backward and
// returns everything that came out, by name.
func runForm(t *testing.T, f form, frozen, residual bool, gamma float32) map[string][]float32 {
	b := backend()
	s := nn.NewStore()
	c := s.Group("all")
	conv := nn.NewConv(c.In("conv"), 5, 5, 3, nn.Square(1, 1))
	norm := nn.NewBatchNorm(c.In("bn"), 5)
	norm.Frozen = frozen
	s.Build(b, 3)
	r := rand.New(rand.NewPCG(4, 5))
	put(b, norm.Running.Value, []float32{.1, -.2, .3, 0, .4, .5, 1, 2, 1.5, .7})
	put(b, norm.Gamma.Value, []float32{gamma, -1, 1, .5, 2})
	put(b, norm.Beta.Value, normal(r, 5))
	tape := grad.NewTape(b, device.NewArena(b))
	x := tape.Leaf(upload(b, normal(r, 120), 2, 3, 4, 5), device.New(b, device.F32, 2, 3, 4, 5))
	res := tape.Leaf(upload(b, normal(r, 120), 2, 3, 4, 5), device.New(b, device.F32, 2, 3, 4, 5))
	var y *grad.Var
	if residual {
		y = f(tape, x, conv, norm, res, device.ReLU)
	} else {
		y = f(tape, x, conv, norm, nil, device.ReLU)
	}
	tape.Backward(tape.Keep(y), upload(b, normal(r, 120), 2, 3, 4, 5))
	all := nntest.Gradients[float32](t, s, b)
	for name, v := range nntest.Values[float32](t, s, b) {
		all["value of "+name] = v
	}
	all["y"], all["dx"] = download(t, b, y.Value), download(t, b, x.Grad)
	if residual {
		all["dresidual"] = download(t, b, res.Grad)
	}
	return all
}

// γ = 0 is where a gradient computed from the output divides by zero.
func TestFusedConvNormActEqualsPlain(t *testing.T) {
	for _, frozen := range []bool{false, true} {
		for _, residual := range []bool{false, true} {
			for _, gamma := range []float32{1, 0, 1e-8} {
				got := runForm(t, nn.ConvNormAct, frozen, residual, gamma)
				want := runForm(t, convNormActPlain, frozen, residual, gamma)
				for name := range want {
					// Two roundings in another order; sums of 24 terms.
					nntest.Near(t, name, got[name], want[name], 3e-6)
				}
			}
		}
	}
}

func TestRunningStatisticsMoveOncePerStep(t *testing.T) {
	run := func(wrap bool) map[string][]float32 {
		b := backend()
		s := nn.NewStore()
		norm := nn.NewBatchNorm(s.Group("all").In("bn"), 3)
		s.Build(b, 1)
		tape := grad.NewTape(b, device.NewArena(b))
		r := rand.New(rand.NewPCG(1, 1))
		x := tape.Leaf(upload(b, normal(r, 12), 4, 3), device.New(b, device.F32, 4, 3))
		layer := func(t *grad.Tape, x *grad.Var) *grad.Var { return norm.Forward(t, x) }
		y := x
		if wrap {
			y = tape.Recompute(layer, x)
		} else {
			y = layer(tape, x)
		}
		tape.Backward(y, device.Array{})
		return nntest.Values[float32](t, s, b)
	}
	plain, wrapped := run(false), run(true)
	for _, name := range []string{"bn.running_mean", "bn.running_var"} {
		nntest.Near(t, name, wrapped[name], plain[name], 0)
	}
}

func TestBadBatchLeavesRunningStatisticsAlone(t *testing.T) {
	b := backend()
	s := nn.NewStore()
	norm := nn.NewBatchNorm(s.Group("all").In("bn"), 1)
	s.Build(b, 1)
	tape := grad.NewTape(b, device.NewArena(b))
	x := upload(b, []float32{1, 2, 3e38, -3e38}, 4, 1) // its variance is beyond float32
	norm.Forward(tape, tape.Leaf(x, device.Array{}))
	nntest.Near(t, "running", download(t, b, norm.Running.Value), []float32{0, 1}, 0)
	b.Fill(s.Guard, 0)
	put(b, x, []float32{1, 2, 3, 4})
	tape.Replay()
	nntest.Near(t, "running", download(t, b, norm.Running.Value), []float32{0.25, 0.9 + 0.1*5.0/3}, 1e-6)
}

func TestEvaluationUsesRunningStatistics(t *testing.T) {
	b := backend()
	s := nn.NewStore()
	c := s.Group("all")
	conv := nn.NewConv(c.In("conv"), 4, 3, 1, nn.Square(1, 0))
	norm := nn.NewBatchNorm(c.In("bn"), 3)
	s.Build(b, 1)
	put(b, norm.Running.Value, []float32{1, 2, 3, 4, 5, 6})
	r := rand.New(rand.NewPCG(1, 1))
	x := upload(b, normal(r, 48), 1, 3, 4, 4)
	tape := grad.NewTape(b, device.NewArena(b)).Evaluate()
	got := nn.ConvNormAct(tape, tape.Leaf(x, device.Array{}), conv, norm, nil, device.ReLU)
	norm.Frozen = true
	other := grad.NewTape(b, device.NewArena(b))
	want := convNormActPlain(other, other.Leaf(x, device.Array{}), conv, norm, nil, device.ReLU)
	nntest.Near(t, "y", download(t, b, got.Value), download(t, b, want.Value), 1e-6)
	nntest.Near(t, "running", download(t, b, norm.Running.Value), []float32{1, 2, 3, 4, 5, 6}, 0)
}
