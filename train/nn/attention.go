package nn

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
)

// Attention is multi-head self-attention (Vaswani et al., "Attention Is All You
// Need", NeurIPS 2017, section 3.2): each token becomes, in each head, the mean of
// the values of the tokens that it sees, weighted by softmax(q·kᵀ/√Dh), and the
// heads side by side pass through Proj.
//
// The rows of QKV are all queries, then keys, then values, head after head in
// each: timm's qkv and the in_proj of torch's MultiheadAttention.
type Attention struct {
	QKV    *Linear // D → 3D
	Proj   *Linear // D → D
	Heads  int
	Causal bool // a token sees itself and those before it
}

// NewAttention declares qkv and proj, with biases, under timm's names.
func NewAttention(c Scope, d, heads int) *Attention {
	return &Attention{QKV: NewLinear(c.In("qkv"), d, 3*d), Proj: NewLinear(c.In("proj"), d, d), Heads: heads}
}

// Forward is [N,T,D] → [N,T,D], all tokens being keys.
func (a *Attention) Forward(t *grad.Tape, x *grad.Var) *grad.Var {
	return a.Keys(t, x, device.Array{})
}

// Keys is Forward where the first length[n] tokens of row n alone are seen; length
// is I32 [N], absent for all. What a token beyond them becomes is computed all the
// same, and means nothing.
func (a *Attention) Keys(t *grad.Tape, x *grad.Var, length device.Array) *grad.Var {
	v := x.Value
	if v.N != 3 || a.Heads < 1 || v.Dims[2]%a.Heads != 0 {
		panic(fmt.Sprintf("nn: %d heads over %v", a.Heads, v))
	}
	qkv := a.QKV.Forward(t, x)
	y := t.New(v.Type, v.Dims[0], v.Dims[1], qkv.Value.Dims[2]/3)
	lse := t.New(device.F32, v.Dims[0], a.Heads, v.Dims[1])
	o := device.Heads{Heads: a.Heads, Causal: a.Causal}
	t.Do(func(b device.Backend) { b.Attention(y.Value, lse.Value, qkv.Value, length, o) })
	t.Back(func(b device.Backend) {
		if dqkv := t.Into(qkv); !dqkv.Absent() {
			b.AttentionGrad(dqkv, t.Grad(y), y.Value, lse.Value, qkv.Value, length, o)
		}
	}, y, lse, qkv)
	t.Done(lse)
	t.Done(qkv)
	z := a.Proj.Forward(t, y)
	t.Done(y)
	return z
}
