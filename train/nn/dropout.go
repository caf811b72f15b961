package nn

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// Dropout makes an element 0 with probability P and divides the others by 1 − P
// (Srivastava et al., JMLR 2014). Which ones depends on the seed, the step, the
// layer and the element, so the second of two passes drops the same. In an
// evaluation it does nothing.
type Dropout struct {
	P float32 // in [0, 1)

	key    *device.Array // of the store
	stream uint32
}

// NewDropout gives a layer a stream of random numbers. Streams are numbered in the
// order in which they are given out; a layer that is applied at several places
// drops the same elements at each.
func NewDropout(c Scope, p float32) *Dropout {
	c.store.streams++
	return &Dropout{P: p, key: &c.store.Key, stream: c.store.streams}
}

// Forward keeps the shape of x.
func (d *Dropout) Forward(t *grad.Tape, x *grad.Var) *grad.Var {
	if d.P == 0 || t.Evaluating() {
		return x
	}
	key := *d.key
	y := t.New(x.Value.Type, x.Value.Shape()...)
	t.Do(func(b device.Backend) { b.Dropout(y.Value, x.Value, key, d.stream, d.P) })
	t.Back(func(b device.Backend) {
		if dx := t.Into(x); !dx.Absent() {
			b.Dropout(dx, t.Grad(y), key, d.stream, d.P)
		}
	})
	return y
}
