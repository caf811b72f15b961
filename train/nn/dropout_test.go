package nn_test

import (
	"slices"
	"testing"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
)

func TestGradientOfDropout(t *testing.T) {
	s := nn.NewStore()
	c := s.Group("all")
	block := nn.NewBlock(c, 8, 2, 16, 1e-5)
	block.Drop = nn.NewDropout(c, 0.3)
	differences(t, s, block.Forward, 2, 5, 8)
}

func TestDropoutChangesWithStepAndLayerAlone(t *testing.T) {
	b, s := backend(), nn.NewStore()
	c := s.Group("all")
	first, second := nn.NewDropout(c, 0.5), nn.NewDropout(c, 0.5)
	s.Build(b, 3)
	ones := make([]float32, 256)
	for i := range ones {
		ones[i] = 1
	}
	x := upload(b, ones, 4, 64)
	tape := grad.NewTape(b, device.NewArena(b))
	one := tape.Keep(first.Forward(tape, tape.Leaf(x, device.Array{})))
	two := tape.Keep(second.Forward(tape, tape.Leaf(x, device.Array{})))
	before := download(t, b, one.Value)
	if slices.Equal(before, download(t, b, two.Value)) {
		t.Error("two layers drop the same")
	}
	tape.Replay()
	if !slices.Equal(before, download(t, b, one.Value)) {
		t.Error("the same step drops something else")
	}
	b.Upload(s.Key.RowRange(1, 2), []byte{1, 0, 0, 0})
	tape.Replay()
	if slices.Equal(before, download(t, b, one.Value)) {
		t.Error("the next step drops the same")
	}
	evaluation := grad.NewTape(b, device.NewArena(b)).Evaluate()
	leaf := evaluation.Leaf(x, device.Array{})
	if first.Forward(evaluation, leaf) != leaf {
		t.Error("an evaluation drops")
	}
}
