package cpu

import (
	"hgld/internal/vec"
	"hgld/train/device"
)

// SGD is one step of stochastic gradient descent with torch's momentum. With g = scale·dw +
// decay·w:
//
//	m ← μ·m + (1−dampening)·g, or g in the first step
//	w ← w − rate·m, with Nesterov w − rate·(g + μ·m)
//
// m may be absent if μ is 0. flag and shadow are those of Adam.
func (b *Backend) SGD(w, m, dw, shadow, hyper, flag device.Array, o device.SGDKind) {
	l := linesOf("SGD", w, m, dw, shadow)
	if hyper.Len() != device.HyperLen || m.Absent() && o.Momentum != 0 {
		panic(shapes("SGD", w, m, hyper))
	}
	if isSet(flag) {
		return
	}
	h := f32(hyper)
	step := vec.SGDStep{
		Scale: float64(h[device.HyperScale]), Decay: float64(h[device.HyperDecay]),
		Momentum: float64(o.Momentum), Fresh: 1 - float64(o.Dampening), Push: 1, Rate: float64(h[device.HyperRate]),
	}
	if o.Nesterov {
		step.Along, step.Push = 1, step.Momentum
	}
	split(b, l.count, l.grain(), sgdTask{
		w: w, m: m, dw: dw, l: l, step: step, first: h[device.HyperFirstStep] != 0,
	})
	if !shadow.Absent() {
		b.Copy(shadow, w)
	}
}

type sgdTask struct {
	w, m, dw device.Array
	l        lines
	step     vec.SGDStep
	first    bool
}

func (t *sgdTask) span(_, lo, hi int) {
	w, m, dw := f32(t.w), f32(t.m), f32(t.dw)
	for i := lo; i < hi; i++ {
		w, m, dw := t.l.of(w, &t.w, i), t.l.of(m, &t.m, i), t.l.of(dw, &t.dw, i)
		if t.step.Momentum == 0 || t.first {
			t.withoutPast(w, m, dw)
			continue
		}
		vec.SGD(w, m, dw, &t.step)
	}
}

// withoutPast is the step that does not read m: the first one, and any without momentum.
func (t *sgdTask) withoutPast(w, m, dw []float32) {
	o := &t.step
	pull := 1.0 // factor of g in the update of w
	if o.Momentum != 0 {
		pull = o.Along + o.Push
	}
	for i, d := range dw {
		x := float64(w[i])
		g := o.Scale*float64(d) + o.Decay*x
		if o.Momentum != 0 {
			m[i] = float32(g)
		}
		w[i] = float32(x - o.Rate*pull*g)
	}
}
