package nn_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hgld/train/device"
	"hgld/train/device/observe"
	"hgld/train/grad"
	"hgld/train/nn"
	"hgld/train/nn/testing/nntest"
)

// rectifiedNet is a network of units, a convolution with BatchNorm each, whose Vars have several
// readers.
type rectifiedNet struct {
	units map[string]func(t *grad.Tape, x, residual *grad.Var, act device.Func) *grad.Var

	// between is put between a unit and its reader. A view keeps the tape from applying the
	// gradient of a ReLU in the epilogue of a convolution's.
	between func(*grad.Tape, *grad.Var) *grad.Var
}

func (n rectifiedNet) unit(t *grad.Tape, name string, x, residual *grad.Var, act device.Func) *grad.Var {
	return n.units[name](t, n.between(t, x), residual, act)
}

// bottleneck is a block of a ResNet. Its shortcut is x, or a unit.
func (n rectifiedNet) bottleneck(t *grad.Tape, x *grad.Var, first, shortcut string) *grad.Var {
	h := n.unit(t, first, x, nil, device.ReLU)
	h = n.unit(t, "b", h, nil, device.ReLU)
	short := x
	if shortcut != "" {
		short = n.unit(t, shortcut, x, nil, device.Identity)
	}
	return n.unit(t, "c", h, short, device.ReLU)
}

// rectifiedForms are networks on x [2,6,5,8].
var rectifiedForms = map[string]func(rectifiedNet, *grad.Tape, *grad.Var) *grad.Var{
	"blocks": func(n rectifiedNet, t *grad.Tape, x *grad.Var) *grad.Var {
		y := n.unit(t, "stem", x, nil, device.ReLU)
		y = n.bottleneck(t, y, "a", "short")
		return n.bottleneck(t, n.bottleneck(t, y, "a", ""), "a", "")
	},
	"strided": func(n rectifiedNet, t *grad.Tape, x *grad.Var) *grad.Var {
		y := n.unit(t, "stem", x, nil, device.ReLU)
		return n.unit(t, "strided", y, nil, device.ReLU)
	},
	"input and residual at once": func(n rectifiedNet, t *grad.Tape, x *grad.Var) *grad.Var {
		y := n.unit(t, "stem", x, nil, device.ReLU)
		y = n.unit(t, "b", y, y, device.ReLU)
		return n.unit(t, "b", y, y, device.Identity)
	},
	"of a Var that is no result of a ReLU": func(n rectifiedNet, t *grad.Tape, x *grad.Var) *grad.Var {
		y := n.unit(t, "stem", x, nil, device.Identity)
		return n.unit(t, "b", y, y, device.ReLU)
	},
	"another reader before": func(n rectifiedNet, t *grad.Tape, x *grad.Var) *grad.Var {
		y := n.unit(t, "stem", x, nil, device.ReLU)
		sum := nn.Add(t, y, y) // does not read y in its gradient: the next unit counts as first
		return nn.Add(t, n.unit(t, "b", y, nil, device.ReLU), sum)
	},
	"another residual before": func(n rectifiedNet, t *grad.Tape, x *grad.Var) *grad.Var {
		y, z := n.unit(t, "stem", x, nil, device.ReLU), n.unit(t, "a", x, nil, device.ReLU)
		early := n.unit(t, "c", z, y, device.ReLU)
		return nn.Add(t, n.unit(t, "b", y, nil, device.ReLU), early)
	},
	"another reader behind": func(n rectifiedNet, t *grad.Tape, x *grad.Var) *grad.Var {
		y := n.unit(t, "stem", x, nil, device.ReLU)
		z := n.unit(t, "b", y, y, device.ReLU)
		return nn.Add(t, nn.Add(t, z, y), n.unit(t, "b", y, nil, device.ReLU))
	},
	"pooled": func(n rectifiedNet, t *grad.Tape, x *grad.Var) *grad.Var {
		y := n.unit(t, "stem", x, nil, device.ReLU)
		window := device.PoolShape{H: 3, W: 3, StrideH: 2, StrideW: 2, PadH: 1, PadW: 1}
		return n.unit(t, "b", nn.Pool(t, n.between(t, y), window), nil, device.ReLU)
	},
	"pooled beside a reader": func(n rectifiedNet, t *grad.Tape, x *grad.Var) *grad.Var {
		y := n.unit(t, "stem", x, nil, device.ReLU)
		pooled := nn.Pool(t, n.between(t, y), device.PoolShape{H: 3, W: 3, PadH: 1, PadW: 1})
		return nn.Add(t, n.unit(t, "b", y, nil, device.ReLU), pooled)
	},
	"recomputed": func(n rectifiedNet, t *grad.Tape, x *grad.Var) *grad.Var {
		y := n.unit(t, "stem", x, nil, device.ReLU)
		block := func(t *grad.Tape, x *grad.Var) *grad.Var { return n.bottleneck(t, x, "a", "") }
		return t.Recompute(block, t.Recompute(block, y))
	},
	"recomputed sum": func(n rectifiedNet, t *grad.Tape, x *grad.Var) *grad.Var {
		y := n.unit(t, "stem", x, nil, device.ReLU)
		return t.Recompute(func(t *grad.Tape, x *grad.Var) *grad.Var {
			return nn.Add(t, x, n.unit(t, "b", x, x, device.ReLU))
		}, y)
	},
}

// runRectified takes a step twice, recorded and replayed, and returns the gradients and the
// operations of each. BatchNorm is frozen, or normalises by the batch.
func runRectified(t *testing.T, form string, frozen bool, between func(*grad.Tape, *grad.Var) *grad.Var) (
	results [2]map[string][]float32, ops [2]map[string]int) {
	replay := 0
	ops = [2]map[string]int{{}, {}}
	plain := backend()
	b := observe.Operations(plain, func(c observe.Call, do func()) { ops[replay][c.Op]++; do() })
	s := nn.NewStore()
	c := s.Group("all")
	net := rectifiedNet{map[string]func(*grad.Tape, *grad.Var, *grad.Var, device.Func) *grad.Var{}, between}
	norms := map[string]*nn.BatchNorm{}
	for name, u := range map[string]struct{ in, out, k, stride int }{
		"stem": {8, 8, 3, 1}, "a": {8, 8, 1, 1}, "b": {8, 8, 3, 1}, "c": {8, 8, 1, 1}, "short": {8, 8, 1, 1},
		"strided": {8, 6, 3, 2},
	} {
		conv := nn.NewConv(c.In(name), u.in, u.out, u.k, nn.Square(u.stride, u.k/2))
		norm := nn.NewBatchNorm(c.In(name).In("bn"), u.out)
		norm.Frozen, norms[name] = frozen, norm
		net.units[name] = func(t *grad.Tape, x, residual *grad.Var, act device.Func) *grad.Var {
			return nn.ConvNormAct(t, x, conv, norm, residual, act)
		}
	}
	s.Build(b, 3)
	r := rand.New(rand.NewPCG(4, 5))
	for _, name := range slices.Sorted(maps.Keys(norms)) {
		put(b, norms[name].Beta.Value, normal(r, norms[name].Beta.Value.Len()))
	}
	x, dx := upload(b, normal(r, 480), 2, 6, 5, 8), device.New(b, device.F32, 2, 6, 5, 8)
	clear(ops[0])
	tape := grad.NewTape(b, device.NewArena(b))
	y := rectifiedForms[form](net, tape, tape.Leaf(x, dx))
	seed := normal(r, y.Value.Len())
	up := upload(b, seed, y.Value.Shape()...)
	tape.Backward(y, up)
	for i := range results {
		if i == 1 {
			plain.Fill(dx, 7) // a replay writes everything again
			replay = 1
			tape.Replay()
		}
		nntest.Near(t, "the seed", download(t, b, up), seed, 0)
		results[i] = nntest.Gradients[float32](t, s, plain)
		results[i]["dx"] = download(t, b, dx)
	}
	tape.Free()
	return results, ops
}

func asItIs(_ *grad.Tape, x *grad.Var) *grad.Var { return x }

func viewed(t *grad.Tape, x *grad.Var) *grad.Var { return t.View(x, x.Value.Shape()...) }

// Gradients are the same whether the gradient of a ReLU is an epilogue or a pass of its own,
// however many readers a result has.
func TestEpilogueOfGradientsChangesNone(t *testing.T) {
	for form := range rectifiedForms {
		for _, frozen := range []bool{true, false} {
			got, _ := runRectified(t, form, frozen, asItIs)
			want, _ := runRectified(t, form, frozen, viewed)
			for i, when := range []string{"recorded", "replayed"} {
				for name := range want[0] {
					what := fmt.Sprintf("%s: frozen %v %s %s", form, frozen, when, name)
					// Sums in another order, in one form of parts that were rounded apart.
					nntest.Near(t, what, got[i][name], want[i][name], 2e-6)
					if !strings.Contains(name, "running") { // those move in each run
						nntest.Near(t, what+" without epilogues", want[i][name], want[0][name], 0)
					}
				}
			}
		}
	}
}

// Of the gradients of ReLUs in front of convolutions and of the sums of gradients at residuals
// no pass over memory is left: only the last ReLU has one.
func TestBlocksHaveNoPassesOfReLUs(t *testing.T) {
	for _, frozen := range []bool{true, false} {
		_, ops := runRectified(t, "blocks", frozen, asItIs)
		for i, list := range ops {
			if list["ReluGrad"] != 1 || list["Axpby"] != 0 || list["Copy"] != 0 || list["ConvGradX"] != 11 {
				t.Errorf("frozen %v, run %d: %v", frozen, i, list)
			}
		}
		_, ops = runRectified(t, "input and residual at once", frozen, asItIs)
		if ops[1]["ReluGrad"] != 0 || ops[1]["Axpby"] != 0 {
			t.Errorf("input and residual at once, frozen %v: %v", frozen, ops[1])
		}
	}
}

// A trained layer's gradients are those of its definition: Norm with the statistics of the batch,
// an addition and a ReLU, each with a gradient of its own.
func TestTrainedUnitsEqualTheirParts(t *testing.T) {
	for _, act := range []device.Func{device.Identity, device.ReLU} {
		var results [2]map[string][]float32
		for i := range results {
			b := backend()
			s := nn.NewStore()
			c := s.Group("all")
			conv, norm := nn.NewConv(c.In("a"), 8, 6, 3, nn.Square(1, 1)), nn.NewBatchNorm(c.In("bn"), 6)
			s.Build(b, 3)
			r := rand.New(rand.NewPCG(4, 5))
			put(b, norm.Gamma.Value, normal(r, 6))
			put(b, norm.Beta.Value, normal(r, 6))
			x, dx := upload(b, normal(r, 480), 2, 6, 5, 8), device.New(b, device.F32, 2, 6, 5, 8)
			res, dres := upload(b, normal(r, 360), 2, 6, 5, 6), device.New(b, device.F32, 2, 6, 5, 6)
			up := upload(b, normal(r, 360), 2, 6, 5, 6)
			tape := grad.NewTape(b, device.NewArena(b))
			from, residual := tape.Leaf(x, dx), tape.Leaf(res, dres)
			var y *grad.Var
			if i == 0 {
				y = nn.ConvNormAct(tape, from, conv, norm, residual, act)
			} else {
				y = nn.Add(tape, norm.Forward(tape, conv.Forward(tape, from)), residual)
				if act != device.Identity {
					y = relu(tape, y)
				}
			}
			tape.Backward(y, up)
			results[i] = nntest.Gradients[float32](t, s, b)
			for name, a := range map[string]device.Array{
				"y": y.Value, "dx": dx, "dresidual": dres, "running": norm.Running.Value,
			} {
				results[i][name] = download(t, b, a)
			}
			tape.Free()
		}
		for name := range results[1] {
			// Sums in another order.
			nntest.Near(t, fmt.Sprintf("act %d: %s", act, name), results[0][name], results[1][name], 5e-6)
		}
	}
}
