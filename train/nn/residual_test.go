package nn_test

import (
	"math/rand/v2"
	"testing"

	"hgld/train/device"
	"hgld/train/device/observe"
	"hgld/train/grad"
	"hgld/train/nn"
	"hgld/train/nn/testing/nntest"
)

// runBlocks takes a step of two transformer layers, recorded and replayed, and returns the
// result, all gradients and the operations of the replay.
func runBlocks(t *testing.T, scaled bool, layer func(*nn.Block, *grad.Tape, *grad.Var) *grad.Var) (
	all map[string][]float32, ops map[string]int) {
	plain := backend()
	b := observe.Operations(plain, func(c observe.Call, do func()) { ops[c.Op]++; do() })
	s := nn.NewStore()
	var blocks []*nn.Block
	for _, name := range []string{"first", "second"} {
		c := s.Group("all").In(name)
		block := nn.NewBlock(c, 8, 2, 16, 1e-6)
		if scaled {
			block.WithLayerScale(c, 8, 0.5)
		}
		blocks = append(blocks, block)
	}
	ops = map[string]int{}
	s.Build(b, 3)
	r := rand.New(rand.NewPCG(4, 5))
	tape := grad.NewTape(b, device.NewArena(b))
	x := tape.Leaf(upload(b, normal(r, 80), 2, 5, 8), device.New(b, device.F32, 2, 5, 8))
	y := tape.Keep(layer(blocks[1], tape, layer(blocks[0], tape, x)))
	tape.Backward(y, upload(b, normal(r, 80), 2, 5, 8))
	plain.Fill(x.Grad, 7)
	clear(ops)
	tape.Replay()
	all = nntest.Gradients[float32](t, s, plain)
	all["y"], all["dx"] = download(t, b, y.Value), download(t, b, x.Grad)
	return all, ops
}

// A layer's residual additions are part of its products: the result and the gradients are those
// of products and additions apart, and there is no pass over memory for them.
func TestResidualsAreAddedInProducts(t *testing.T) {
	apart := func(l *nn.Block, t *grad.Tape, x *grad.Var) *grad.Var {
		y := nn.Add(t, x, nn.Chain(t, x, l.Norm1.Forward, l.Attention.Forward))
		return nn.Add(t, y, nn.Chain(t, y, l.Norm2.Forward, l.MLP.Forward))
	}
	for _, scaled := range []bool{false, true} {
		got, ops := runBlocks(t, scaled, (*nn.Block).Forward)
		want, before := runBlocks(t, scaled, apart)
		for name := range want {
			nntest.Near(t, name, got[name], want[name], 2e-6) // roundings in another order
		}
		// Of each of four residuals the addition, and of its gradient two copies, but for those
		// of the caller's seed and to the caller's dx.
		if before["Axpby"]-ops["Axpby"] != 4 || before["Copy"]-ops["Copy"] != 8-2 || ops["MatMul"] != before["MatMul"] {
			t.Errorf("with layer scale %v: %v, apart %v", scaled, ops, before)
		}
	}
}

// A block that computes only the tokens in front gives their values and all gradients of a whole block, but for
// roundings in another order.
func TestFrontIsTheFirstTokensOfABlock(t *testing.T) {
	run := func(front func(*nn.Block, *grad.Tape, *grad.Var) *grad.Var) map[string][]float32 {
		b := backend()
		s := nn.NewStore()
		block := nn.NewBlock(s.Group("all"), 8, 2, 16, 1e-6)
		s.Build(b, 3)
		r := rand.New(rand.NewPCG(4, 5))
		tape := grad.NewTape(b, device.NewArena(b))
		x := tape.Leaf(upload(b, normal(r, 80), 2, 5, 8), device.New(b, device.F32, 2, 5, 8))
		y := tape.Keep(front(block, tape, x))
		tape.Backward(y, upload(b, normal(r, 16), 2, 8))
		tape.Replay()
		all := nntest.Gradients[float32](t, s, b)
		all["y"], all["dx"] = download(t, b, y.Value), download(t, b, x.Grad)
		return all
	}
	got := run(func(l *nn.Block, t *grad.Tape, x *grad.Var) *grad.Var { return nn.Token(t, l.Front(t, x, 2), 1) })
	want := run(func(l *nn.Block, t *grad.Tape, x *grad.Var) *grad.Var { return nn.Token(t, l.Forward(t, x), 1) })
	for name := range want {
		nntest.Near(t, name, got[name], want[name], 2e-6)
	}
}
