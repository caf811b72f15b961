package nn_test

import (
	"slices"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
)

func TestGradientOfBlockWithNormsInFront(t *testing.T) {
	s := nn.NewStore()
	differences(t, s, nn.NewBlock(s.Group("all"), 8, 2, 16, 1e-5).Forward, 2, 5, 8)
}

// BERT's form, with keys of different number.
func TestGradientOfBlockWithNormsBehind(t *testing.T) {
	s := nn.NewStore()
	block := nn.NewBlock(s.Group("all"), 8, 2, 16, 1e-5)
	block.Behind = true
	differences(t, s, func(t *grad.Tape, x *grad.Var) *grad.Var {
		return block.Keys(t, x, uploadInts(t.Backend(), 5, 2))
	}, 2, 5, 8)
}

// A text tower in short: words, positions, a causal block, the last token.
func TestGradientOfTextTower(t *testing.T) {
	s := nn.NewStore()
	c := s.Group("all")
	words := nn.NewEmbedding(c.In("words"), 7, 8)
	positions := c.Param("positions", nn.Normal(0.1), 6, 8)
	block := nn.NewBlock(c.In("block"), 8, 2, 16, 1e-5)
	block.Attention.Causal, block.MLP.Act = true, nn.QuickGELU
	projection := &nn.Linear{Weight: c.Param("projection", nn.KaimingUniform, 8, 3), Transposed: true}
	differences(t, s, func(t *grad.Tape, x *grad.Var) *grad.Var {
		b := t.Backend()
		y := words.Forward(t, uploadInts(b, 1, 2, 2, 6, 3, 2, 0, -1).Reshape(2, 4))
		y = nn.Add(t, y, x)
		y = block.Forward(t, nn.AddPositions(t, y, positions))
		last := nn.Gather(t, t.View(y, 8, 8), uploadInts(b, 3, 6))
		mean := nn.WeighTokens(t, y, upload(b, []float32{0.25, 0.25, 0.25, 0.25, 0.5, 0.5, 0, 0}, 2, 1, 4))
		y = nn.Add(t, nn.Add(t, last, mean), nn.Token(t, y, 1))
		return projection.Forward(t, y)
	}, 2, 4, 8)
}

func TestGradientOfPooledAndResizedImage(t *testing.T) {
	differences(t, nn.NewStore(), func(t *grad.Tape, x *grad.Var) *grad.Var {
		return nn.AdaptivePool(t, nn.Rescale(t, x, 0.7, false), device.AvgPool, 2, 3)
	}, 2, 7, 6, 4)
}

func TestEmbeddingOfNoWordIsZero(t *testing.T) {
	b, s := backend(), nn.NewStore()
	words := nn.NewEmbedding(s.Group("all"), 3, 4)
	s.Build(b, 1)
	tape := grad.NewTape(b, device.NewArena(b))
	y := download(t, b, words.Forward(tape, uploadInts(b, 2, -1).Reshape(2, 1)).Value)
	if table := download(t, b, words.Weight.Value); !slices.Equal(y[:4], table[8:]) || !slices.Equal(y[4:], make([]float32, 4)) {
		t.Errorf("rows %v of %v", y, table)
	}
}

// What files keep as three layers is one, and starts and moves under their names.
func TestStackedLayersKeepTheirNames(t *testing.T) {
	b, s, apart := backend(), nn.NewStore(), nn.NewStore()
	names := []string{"q_proj", "k_proj", "v_proj"}
	all := nn.NewStackedLinear(s.Group("all").In("attn"), names, 4, 6)
	for _, name := range names {
		nn.NewLinear(apart.Group("all").In("attn").In(name), 4, 2)
	}
	s.Build(b, 5)
	apart.Build(b, 5)
	got, want := values(t, s, b), values(t, apart, b)
	if len(got) != 6 || len(want) != 6 {
		t.Fatalf("names %v and %v", got, want)
	}
	for name, v := range want {
		if !slices.Equal(got[name], v) {
			t.Errorf("%s starts as %v, want %v", name, got[name], v)
		}
	}
	var tensors []tensorfile.Tensor
	for i, name := range names {
		v := []float32{float32(i), 1, 2, 3, 4, 5, 6, 7}
		tensors = append(tensors, tensor("attn."+name+".weight", v, 2, 4), tensor("attn."+name+".bias", v[:2], 2))
	}
	if err := s.Import(b, tensors, ""); err != nil {
		t.Fatal(err)
	}
	weight, bias := download(t, b, all.Weight.Value), download(t, b, all.Bias.Value)
	if weight[0] != 0 || weight[8] != 1 || weight[16] != 2 || !slices.Equal(bias, []float32{0, 1, 1, 1, 2, 1}) {
		t.Errorf("imported as %v and %v", weight, bias)
	}
	if s.Size() != apart.Size() {
		t.Errorf("%d numbers, want %d", s.Size(), apart.Size())
	}
}
