package loss

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// Streams of random numbers, one for each use.
const (
	marginStream uint32 = 1<<31 + iota
	marginMemoryStream
	scoreMixStream
	scoreMixMemoryStream
	rowMixStream
)

// draw records random numbers F32 [dims] for the step. If given is present, it is used instead.
func (b *Batch) draw(t *grad.Tape, given device.Array, stream uint32, o device.Dist, dims ...int) *grad.Var {
	if given.Absent() && b.Key.Absent() {
		panic("loss: the batch has no key, and the loss draws random numbers")
	}
	x := t.New(device.F32, dims...)
	t.Do(func(d device.Backend) {
		if given.Absent() {
			d.Random(x.Value, b.Key, stream, o)
		} else {
			d.Copy(x.Value, given.Reshape(dims...))
		}
	})
	return x
}
