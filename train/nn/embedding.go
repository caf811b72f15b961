package nn

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
)

// Embedding is a table with a row for each word.
type Embedding struct {
	Weight *Param // [words, D]
}

// NewEmbedding declares a table, started from the normal distribution with
// deviation 0.02, as CLIP's and BERT's.
func NewEmbedding(c Scope, words, d int) *Embedding {
	return &Embedding{Weight: c.Param("weight", Normal(0.02), words, d)}
}

// Forward looks up index, I32 [N,T]: [N,T,D], zeros where it is −1.
func (e *Embedding) Forward(t *grad.Tape, index device.Array) *grad.Var {
	y := Gather(t, e.Weight.Var(t), index.Reshape(index.Len()))
	return t.View(y, index.Dims[0], index.Dims[1], y.Value.Dims[1])
}

// Gather takes row index[i] of the matrix x as row i, zeros where that is −1;
// index is I32 [n].
func Gather(t *grad.Tape, x *grad.Var, index device.Array) *grad.Var {
	y := t.New(x.Value.Type, index.Len(), x.Value.Dims[1])
	t.Do(func(b device.Backend) {
		b.Fill(y.Value, 0)
		b.Gather(y.Value, x.Value, index)
	})
	t.Back(func(b device.Backend) {
		if dx, acc := t.Onto(x); !dx.Absent() {
			if acc == 0 {
				b.Fill(dx, 0)
			}
			b.ScatterAdd(dx, t.Grad(y), index, 1)
		}
	})
	return y
}

// Token is token i of each row: [N,T,D] → [N,D].
func Token(t *grad.Tape, x *grad.Var, i int) *grad.Var {
	n, d := x.Value.Dims[0], x.Value.Dims[2]
	y := t.New(x.Value.Type, n, d)
	token := func(all device.Array) device.Array {
		return all.Reshape(n, all.Len()/n).ColRange(i*d, (i+1)*d)
	}
	t.Do(func(b device.Backend) { b.Copy(y.Value, token(x.Value)) })
	t.Back(func(b device.Backend) {
		dx, acc := t.Onto(x)
		if dx.Absent() {
			return
		}
		if acc == 0 {
			b.Fill(dx, 0)
		}
		into := token(dx)
		b.Axpby(into, 1, into, 1, t.Grad(y))
	})
	return y
}

// WeighTokens is the sum of each row's tokens by given weights, which take no
// gradient: [N,T,D] and F32 [N,1,T] → [N,D]. Weights of 1/length for the tokens of
// a text and 0 beyond make it their mean.
func WeighTokens(t *grad.Tape, x *grad.Var, weights device.Array) *grad.Var {
	n, tokens, d := x.Value.Dims[0], x.Value.Dims[1], x.Value.Dims[2]
	if x.Value.N != 3 || weights.Len() != n*tokens {
		panic(fmt.Sprintf("nn: weights %v of the tokens of %v", weights, x.Value))
	}
	w := weights.Reshape(n, 1, tokens)
	y := t.New(x.Value.Type, n, d)
	t.Do(func(b device.Backend) { b.MatMul(y.Value.Reshape(n, 1, d), w, x.Value, device.Mul{Alpha: 1}) })
	t.Back(func(b device.Backend) {
		if dx, acc := t.Onto(x); !dx.Absent() {
			dy := t.Grad(y)
			b.MatMul(dx, w, dy.Reshape(n, 1, d), device.Mul{TransA: true, Alpha: 1, Beta: acc})
		}
	})
	return y
}

// AddPositions adds row i of p to token i of each row of x [N,T,D]; p has at least
// T·D numbers in its last two dimensions.
func AddPositions(t *grad.Tape, x *grad.Var, p *Param) *grad.Var {
	n, used := x.Value.Dims[0], x.Value.Dims[1]*x.Value.Dims[2]
	v := p.Var(t)
	if v.Value.Cols() != x.Value.Dims[2] || v.Value.Len() < used {
		panic(fmt.Sprintf("nn: %s %v added to %v", p.Name(), v.Value, x.Value))
	}
	y := t.New(x.Value.Type, x.Value.Shape()...)
	t.Do(func(b device.Backend) {
		b.Axpby(y.Value.Reshape(n, used), 1, x.Value.Reshape(n, used), 1, first(v.Value, used))
	})
	t.Back(func(b device.Backend) {
		dy := t.Grad(y)
		if dx := t.Into(x); !dx.Absent() {
			b.Copy(dx, dy)
		}
		if dp, acc := t.Onto(v); !dp.Absent() {
			if acc == 0 && dp.Len() > used {
				b.Fill(dp, 0)
			}
			b.Sums(first(dp, used), dy.Reshape(n, used), device.SumCols, acc)
		}
	})
	return y
}

// first is the first n elements of a as a vector.
func first(a device.Array, n int) device.Array { return a.Reshape(a.Len()).RowRange(0, n) }
