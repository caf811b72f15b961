package loss

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// classified records the mean over all Q rows of the cross-entropy of the logits z [Q,C] with the
// classes I32 [Q,1], minus the constant least. A row of class −1 contributes 0.
func classified(t *grad.Tape, z *grad.Var, classes device.Array, o device.Softmax, least float32) *grad.Var {
	Q := z.Value.Dims[0]
	class, each, dz, loss := t.New(device.I32, Q), t.New(device.F32, Q), t.New(device.F32, z.Value.Shape()...),
		t.New(device.F32, 1)
	t.Do(func(d device.Backend) {
		d.Copy(class.Value.Reshape(Q, 1), classes)
		d.SoftmaxLoss(each.Value, dz.Value, z.Value, class.Value, o)
		if least != 0 {
			all, own := t.Scratch(device.F32, z.Value.Dims[1]), t.Scratch(device.F32, Q)
			d.Fill(all, least)
			d.Fill(own, 0)
			d.Gather(own, all, class.Value)
			d.Axpby(each.Value, 1, each.Value, -1, own)
		}
		d.Sums(loss.Value, each.Value, device.SumAll, 0)
		d.Axpby(loss.Value, 1/float32(Q), loss.Value, 0, device.Array{})
	})
	t.Done(class)
	t.Done(each)
	t.Back(func(d device.Backend) {
		if into := t.Into(z); !into.Absent() {
			d.Scale(into, dz.Value, t.Grad(loss))
			d.Axpby(into, 1/float32(Q), into, 0, device.Array{})
		}
	}, dz)
	return loss
}

// times computes dst = x·y element by element, for arrays without gaps.
func times(d device.Backend, dst, x, y device.Array) {
	n := x.Len()
	d.Scale(dst.Reshape(n, 1), x.Reshape(n, 1), y.Reshape(n))
}
