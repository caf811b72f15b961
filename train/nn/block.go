package nn

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// MLP is FC2(Act(FC1(x))), token by token.
type MLP struct {
	FC1, FC2 *Linear
	Act      Layer // such as GELU
}

// NewMLP declares fc1 and fc2, with biases, under timm's names; d → hidden → d.
func NewMLP(c Scope, d, hidden int) *MLP {
	return &MLP{FC1: NewLinear(c.In("fc1"), d, hidden), FC2: NewLinear(c.In("fc2"), hidden, d), Act: GELU}
}

// Forward is [..., D] → [..., D].
func (m *MLP) Forward(t *grad.Tape, x *grad.Var) *grad.Var {
	return Chain(t, x, m.FC1.Forward, m.Act, m.FC2.Forward)
}

// Block is a layer of a transformer: attention and MLP, each beside a residual.
// With the norms in front, as ViT, DeiT and CLIP have them,
//
//	y = x + Attention(Norm1(x)), z = y + MLP(Norm2(y)),
//
// and with the norms behind, as BERT,
//
//	y = Norm1(x + Attention(x)), z = Norm2(y + MLP(y)).
type Block struct {
	Norm1     *LayerNorm
	Attention *Attention
	Norm2     *LayerNorm
	MLP       *MLP
	Behind    bool
}

// NewBlock declares norm1, attn, norm2 and mlp under timm's names, with the norms
// in front.
func NewBlock(c Scope, d, heads, hidden int, eps float32) *Block {
	return &Block{
		Norm1:     NewLayerNorm(c.In("norm1"), d, eps),
		Attention: NewAttention(c.In("attn"), d, heads),
		Norm2:     NewLayerNorm(c.In("norm2"), d, eps),
		MLP:       NewMLP(c.In("mlp"), d, hidden),
	}
}

// Forward is [N,T,D] → [N,T,D], all tokens being keys.
func (l *Block) Forward(t *grad.Tape, x *grad.Var) *grad.Var { return l.Keys(t, x, device.Array{}) }

// Keys is Forward with the keys that Attention.Keys describes.
func (l *Block) Keys(t *grad.Tape, x *grad.Var, length device.Array) *grad.Var {
	attend := func(t *grad.Tape, x *grad.Var) *grad.Var { return l.Attention.Keys(t, x, length) }
	y := l.beside(t, x, l.Norm1.Forward, attend)
	z := l.beside(t, y, l.Norm2.Forward, l.MLP.Forward)
	t.Done(y)
	return z
}

// beside is x + f(norm(x)), or norm(x + f(x)).
func (l *Block) beside(t *grad.Tape, x *grad.Var, norm, f Layer) *grad.Var {
	layers := []Layer{norm, f}
	if l.Behind {
		layers = layers[1:]
	}
	change := Chain(t, x, layers...)
	y := Add(t, x, change)
	t.Done(change)
	if !l.Behind {
		return y
	}
	z := norm(t, y)
	t.Done(y)
	return z
}
