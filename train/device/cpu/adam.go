package cpu

import (
	"math"

	"hgld/internal/vec"
	"hgld/train/device"
)

// Adam makes one step of Adam (Kingma and Ba, ICLR 2015) or AdamW (Loshchilov and
// Hutter, ICLR 2019), with eps placed as in PyTorch. The gradient is g = scale·dw. If
// o.Decoupled is set, w is first multiplied by 1 − rate·decay; otherwise decay·w is added
// to g. Then:
//
//	m ← β1·m + (1−β1)·g, v ← β2·v + (1−β2)·g²
//	w ← w − rate/bias1 · m / (√v/√bias2 + eps)
//
// If flag is present and not zero, nothing changes. If shadow is present, it receives w
// in its own type.
func (b *Backend) Adam(w, m, v, dw, shadow, hyper, flag device.Array, o device.AdamKind) {
	l := linesOf("Adam", w, m, v, dw, shadow)
	if hyper.Len() != device.HyperLen {
		panic(shapes("Adam", hyper))
	}
	if isSet(flag) {
		return
	}
	h := f32(hyper)
	rate, decay := float64(h[device.HyperRate]), float64(h[device.HyperDecay])
	step := vec.AdamStep{
		Beta1: float64(o.Beta1), Fresh1: 1 - float64(o.Beta1), Beta2: float64(o.Beta2), Fresh2: 1 - float64(o.Beta2),
		Scale: float64(h[device.HyperScale]), Decay: decay, Keep: 1,
		Rate: rate / float64(h[device.HyperBias1]), Root: 1 / math.Sqrt(float64(h[device.HyperBias2])), Eps: float64(o.Eps),
	}
	if o.Decoupled {
		step.Decay, step.Keep = 0, 1-rate*decay
	}
	split(b, l.count, l.grain(), adamTask{w, m, v, dw, l, step})
	if !shadow.Absent() {
		b.Copy(shadow, w)
	}
}

// isSet reports whether a flag is present and not zero.
func isSet(flag device.Array) bool { return !flag.Absent() && i32(flag)[0] != 0 }

type adamTask struct {
	w, m, v, dw device.Array
	l           lines
	step        vec.AdamStep
}

func (t *adamTask) span(_, lo, hi int) {
	w, m, v, dw := f32(t.w), f32(t.m), f32(t.v), f32(t.dw)
	for i := lo; i < hi; i++ {
		vec.Adam(t.l.of(w, &t.w, i), t.l.of(m, &t.m, i), t.l.of(v, &t.v, i), t.l.of(dw, &t.dw, i), &t.step)
	}
}
