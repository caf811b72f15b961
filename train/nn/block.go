package nn

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// MLP is FC2(Act(FC1(x))), token by token.
type MLP struct {
	FC1, FC2 *Linear     // d → hidden → d
	Act      device.Func // such as GELU
}

// NewMLP declares fc1 and fc2, with biases, under timm's names; d → hidden → d.
func NewMLP(c Scope, d, hidden int) *MLP {
	return &MLP{FC1: NewLinear(c.In("fc1"), d, hidden), FC2: NewLinear(c.In("fc2"), hidden, d), Act: device.GELU}
}

// Forward maps [..., D] to [..., D].
func (m *MLP) Forward(t *grad.Tape, x *grad.Var) *grad.Var { return m.Onto(t, x, nil) }

// Onto records residual + Forward(x). residual may be nil.
func (m *MLP) Onto(t *grad.Tape, x, residual *grad.Var) *grad.Var {
	h := m.FC1.Forward(t, x)
	y := m.FC2.after(t, h, m.Act, residual)
	t.Done(h)
	return y
}

// Block is a layer of a vision transformer with residuals and pre-norms:
//
//	y = x + Attention(Norm1(x)), z = y + MLP(Norm2(y))
type Block struct {
	Norm1     *LayerNorm // before Attention
	Attention *Attention // mixes tokens
	Norm2     *LayerNorm // before MLP
	MLP       *MLP       // token by token
}

// WithLayerScale declares ls1.gamma and ls2.gamma with timm's names, starting at start. They
// multiply what the block adds to its tokens.
func (l *Block) WithLayerScale(c Scope, d int, start float32) *Block {
	l.Attention.Proj.Gamma = c.In("ls1").Param("gamma", Constant(start), d)
	l.MLP.FC2.Gamma = c.In("ls2").Param("gamma", Constant(start), d)
	return l
}

// NewBlock declares norm1, attn, norm2 and mlp under timm's names.
func NewBlock(c Scope, d, heads, hidden int, eps float32) *Block {
	return &Block{
		Norm1:     NewLayerNorm(c.In("norm1"), d, eps),
		Attention: NewAttention(c.In("attn"), d, heads),
		Norm2:     NewLayerNorm(c.In("norm2"), d, eps),
		MLP:       NewMLP(c.In("mlp"), d, hidden),
	}
}

// Forward maps tokens [N,T,D] to [N,T,D].
func (l *Block) Forward(t *grad.Tape, x *grad.Var) *grad.Var {
	y := residual(t, x, l.Norm1, l.Attention.Onto)
	z := residual(t, y, l.Norm2, l.MLP.Onto)
	t.Done(y)
	return z
}

// Front maps tokens [N,T,D] to the first k of those that Forward returns, [N,k,D]. Of the others it computes queries,
// keys and values alone: nobody reads more of the last block of a transformer whose result is the class token.
func (l *Block) Front(t *grad.Tape, x *grad.Var, k int) *grad.Var {
	first := tokens(t, x, 0, k) // ahead of the norm, whose gradient is written first then
	h := l.Norm1.Forward(t, x)
	all := l.Attention.mix(t, h)
	t.Done(h)
	mixed := tokens(t, all, 0, k)
	t.Done(all)
	y := l.Attention.Proj.Onto(t, mixed, first)
	t.Done(mixed)
	t.Done(first)
	z := residual(t, y, l.Norm2, l.MLP.Onto)
	t.Done(y)
	return z
}

// residual records x + layer(norm(x)).
func residual(t *grad.Tape, x *grad.Var, norm *LayerNorm,
	onto func(t *grad.Tape, x, residual *grad.Var) *grad.Var) *grad.Var {
	h := norm.Forward(t, x)
	y := onto(t, h, x)
	t.Done(h)
	return y
}
