package nn

import "hgld/train/grad"

// Layer is a function of a Var: the Forward of a layer.
type Layer = func(t *grad.Tape, x *grad.Var) *grad.Var

// Chain applies layers in order. It releases each intermediate result once the next layer has
// read it; x belongs to the caller.
func Chain(t *grad.Tape, x *grad.Var, layers ...Layer) *grad.Var {
	y := x
	for _, layer := range layers {
		z := layer(t, y)
		if y != x && z != y {
			t.Done(y)
		}
		y = z
	}
	return y
}
