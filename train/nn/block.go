package nn

import "hgld/train/grad"

// MLP is FC2(Act(FC1(x))), token by token.
type MLP struct {
	FC1, FC2 *Linear // d → hidden → d
	Act      Layer   // such as GELU
}

// NewMLP declares fc1 and fc2, with biases, under timm's names; d → hidden → d.
func NewMLP(c Scope, d, hidden int) *MLP {
	return &MLP{FC1: NewLinear(c.In("fc1"), d, hidden), FC2: NewLinear(c.In("fc2"), hidden, d), Act: GELU}
}

// Forward maps [..., D] to [..., D].
func (m *MLP) Forward(t *grad.Tape, x *grad.Var) *grad.Var { return m.Onto(t, x, nil) }

// Onto records residual + Forward(x). residual may be nil.
func (m *MLP) Onto(t *grad.Tape, x, residual *grad.Var) *grad.Var {
	h := Chain(t, x, m.FC1.Forward, m.Act)
	y := m.FC2.Onto(t, h, residual)
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

// residual records x + layer(norm(x)).
func residual(t *grad.Tape, x *grad.Var, norm *LayerNorm,
	onto func(t *grad.Tape, x, residual *grad.Var) *grad.Var) *grad.Var {
	h := norm.Forward(t, x)
	y := onto(t, h, x)
	t.Done(h)
	return y
}
