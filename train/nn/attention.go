package nn

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
)

// Attention is multi-head self-attention (Vaswani et al., "Attention Is All You
// Need", NeurIPS 2017, section 3.2). In each head, a token becomes the mean of the
// values of all tokens, weighted by softmax(q·kᵀ/√Dh). Proj maps the concatenated
// heads.
//
// The rows of QKV are all queries, then keys, then values, head after head in each. timm's qkv
// and the in_proj of torch's MultiheadAttention have the same order.
//
// Package text has its own transformer, which computes ragged batches without gradients.
type Attention struct {
	QKV   *Linear // D → 3D
	Proj  *Linear // D → D
	Heads int     // a divisor of D
}

// NewAttention declares qkv and proj, with biases, under timm's names.
func NewAttention(c Scope, d, heads int) *Attention {
	return &Attention{QKV: NewLinear(c.In("qkv"), d, 3*d), Proj: NewLinear(c.In("proj"), d, d), Heads: heads}
}

// Forward maps tokens [N,T,D] to [N,T,D].
func (a *Attention) Forward(t *grad.Tape, x *grad.Var) *grad.Var { return a.Onto(t, x, nil) }

// Onto records residual + Forward(x). residual may be nil.
func (a *Attention) Onto(t *grad.Tape, x, residual *grad.Var) *grad.Var {
	y := a.mix(t, x)
	z := a.Proj.Onto(t, y, residual)
	t.Done(y)
	return z
}

// mix records Forward without Proj.
func (a *Attention) mix(t *grad.Tape, x *grad.Var) *grad.Var {
	v := x.Value
	if v.N != 3 || a.Heads < 1 || v.Dims[2]%a.Heads != 0 {
		panic(fmt.Sprintf("nn: %d heads over %v", a.Heads, v))
	}
	qkv := a.QKV.Forward(t, x)
	y := attend(t, qkv, a.Heads)
	t.Done(qkv)
	return y
}

// attend records the attention of packed queries, keys and values: [N,T,3D] → [N,T,D].
func attend(t *grad.Tape, qkv *grad.Var, heads int) *grad.Var {
	v := qkv.Value
	y := t.New(v.Type, v.Dims[0], v.Dims[1], v.Dims[2]/3)
	lse := t.New(device.F32, v.Dims[0], heads, v.Dims[1])
	o := device.Heads{Heads: heads}
	t.Do(func(b device.Backend) { b.Attention(y.Value, lse.Value, qkv.Value, device.Array{}, o) })
	t.Back(func(b device.Backend) {
		if dqkv := t.Into(qkv); !dqkv.Absent() {
			b.AttentionGrad(dqkv, t.Grad(y), y.Value, lse.Value, qkv.Value, device.Array{}, o)
		}
	}, y, lse, qkv)
	t.Done(lse)
	return y
}
