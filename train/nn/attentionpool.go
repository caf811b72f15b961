package nn

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
)

// AttentionPool turns tokens into one vector by the attention of a single learnt query, as
// SigLIP does (Zhai et al., "Scaling Vision Transformers", CVPR 2022, section 3.3: MAP):
//
//	z = Proj(Attention(Q(Latent), KV(x))), y = z + MLP(Norm(z))
type AttentionPool struct {
	Latent *Param     // [1, 1, D]
	Q      *Linear    // D → D, of Latent
	KV     *Linear    // D → 2D, keys then values
	Proj   *Linear    // D → D
	Norm   *LayerNorm // before MLP
	MLP    *MLP       // of the vector
	Heads  int        // a divisor of D
}

// NewAttentionPool declares latent, q, kv, proj, norm and mlp under timm's names.
func NewAttentionPool(c Scope, d, heads, hidden int, eps float32) *AttentionPool {
	return &AttentionPool{
		Latent: c.Param("latent", Normal(0.02), 1, 1, d),
		Q:      NewLinear(c.In("q"), d, d),
		KV:     NewLinear(c.In("kv"), d, 2*d),
		Proj:   NewLinear(c.In("proj"), d, d),
		Norm:   NewLayerNorm(c.In("norm"), d, eps),
		MLP:    NewMLP(c.In("mlp"), d, hidden),
		Heads:  heads,
	}
}

// Forward maps tokens [N,T,D] to [N,D].
func (a *AttentionPool) Forward(t *grad.Tape, x *grad.Var) *grad.Var {
	if v := x.Value; v.N != 3 || a.Heads < 1 || v.Dims[2]%a.Heads != 0 {
		panic(fmt.Sprintf("nn: %d heads over %v", a.Heads, v))
	}
	q := a.Q.Forward(t, a.Latent.As(t, x.Value.Type))
	kv := a.KV.Forward(t, x)
	qkv := packed(t, q, kv)
	t.Done(q)
	t.Done(kv)
	all := attend(t, qkv, a.Heads)
	t.Done(qkv)
	one := Token(t, all, 0)
	t.Done(all)
	z := a.Proj.Forward(t, one)
	t.Done(one)
	y := residual(t, z, a.Norm, a.MLP.Onto)
	t.Done(z)
	return y
}

// packed arranges one query of D numbers and kv [N,T,2D] as device.Attention expects, [N,T,3D].
// The query becomes that of token 0. The queries of the other tokens, whose results are not read,
// are zero.
func packed(t *grad.Tape, q, kv *grad.Var) *grad.Var {
	n, tokens, d := kv.Value.Dims[0], kv.Value.Dims[1], kv.Value.Dims[2]/2
	y := t.New(kv.Value.Type, n, tokens, 3*d)
	first := func(all device.Array) device.Array { return all.Reshape(n, tokens*3*d).ColRange(0, d) }
	t.Do(func(b device.Backend) {
		b.Fill(matrix(y.Value).ColRange(0, d), 0)
		b.Axpby(first(y.Value), 1, first(y.Value), 1, q.Value.Reshape(d))
		b.Copy(matrix(y.Value).ColRange(d, 3*d), matrix(kv.Value))
	})
	t.Back(func(b device.Backend) {
		dy := t.Grad(y)
		if dkv := t.Into(kv); !dkv.Absent() {
			b.Copy(matrix(dkv), matrix(dy).ColRange(d, 3*d))
		}
		if dq := t.Into(q); !dq.Absent() {
			sum := t.Scratch(device.F32, d)
			b.Sums(sum, first(dy), device.SumCols, 0)
			b.Copy(dq.Reshape(d), sum)
		}
	})
	return y
}
