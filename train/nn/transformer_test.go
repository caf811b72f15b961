package nn_test

import (
	"slices"
	"testing"

	"hgld/internal/tensorfile"
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

// What files keep as three layers is one, and starts and moves under their names.
func TestStackedLayersKeepTheirNames(t *testing.T) {
	b, s, apart := backend(), nn.NewStore(), nn.NewStore()
	names := []string{"q_proj", "k_proj", "v_proj"}
	c := s.Group("all").In("attn")
	weight := c.Stacked([]string{"q_proj.weight", "k_proj.weight", "v_proj.weight"}, nn.KaimingUniform, 6, 4)
	bias := c.Stacked([]string{"q_proj.bias", "k_proj.bias", "v_proj.bias"}, nn.UniformFan(4), 6)
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
	w, v := download(t, b, weight.Value), download(t, b, bias.Value)
	if w[0] != 0 || w[8] != 1 || w[16] != 2 || !slices.Equal(v, []float32{0, 1, 1, 1, 2, 1}) {
		t.Errorf("imported as %v and %v", w, v)
	}
	if s.Size() != apart.Size() {
		t.Errorf("%d numbers, want %d", s.Size(), apart.Size())
	}
}
