package nn

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
)

// Token takes token i of each row: [N,T,D] → [N,D].
func Token(t *grad.Tape, x *grad.Var, i int) *grad.Var {
	return t.View(tokens(t, x, i, 1), x.Value.Dims[0], x.Value.Dims[2])
}

// tokens takes k tokens of each row from token i on: [N,T,D] → [N,k,D].
func tokens(t *grad.Tape, x *grad.Var, i, k int) *grad.Var {
	n, d := x.Value.Dims[0], x.Value.Dims[2]
	y := t.New(x.Value.Type, n, k, d)
	part := func(all device.Array) device.Array {
		return all.Reshape(n, all.Len()/n).ColRange(i*d, (i+k)*d)
	}
	t.Do(func(b device.Backend) { b.Copy(y.Value.Reshape(n, k*d), part(x.Value)) })
	t.Back(func(b device.Backend) {
		dx, acc := t.Onto(x)
		if dx.Absent() {
			return
		}
		if acc == 0 {
			b.Fill(dx, 0)
		}
		into := part(dx)
		b.Axpby(into, 1, into, 1, t.Grad(y).Reshape(n, k*d))
	})
	return y
}

// AddPositions adds row i of p to token i of each row of x [N,T,D]. p must have at least T·D
// numbers in its last two dimensions.
func AddPositions(t *grad.Tape, x *grad.Var, p *Param) *grad.Var {
	n, used := x.Value.Dims[0], x.Value.Dims[1]*x.Value.Dims[2]
	v := p.As(t, x.Value.Type)
	if v.Value.Cols() != x.Value.Dims[2] || v.Value.Len() < used {
		panic(fmt.Sprintf("nn: %s %v added to %v", p.Name(), v.Value, x.Value))
	}
	y := t.New(x.Value.Type, x.Value.Shape()...)
	t.Do(func(b device.Backend) {
		b.Axpby(y.Value.Reshape(n, used), 1, x.Value.Reshape(n, used), 1, first(v.Value, used))
	})
	t.Back(func(b device.Backend) {
		dy := t.Grad(y)
		if dp, acc := t.Onto(v); !dp.Absent() {
			if acc == 0 && dp.Len() > used {
				b.Fill(dp, 0)
			}
			b.Sums(first(dp, used), dy.Reshape(n, used), device.SumCols, acc)
		}
		t.Pass(b, y, x)
	})
	return y
}

// first returns the first n elements of a as a vector.
func first(a device.Array, n int) device.Array { return a.Reshape(a.Len()).RowRange(0, n) }
