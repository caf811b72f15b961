package cpu

import "hgld/train/device"

// SGD is one step of stochastic gradient descent with torch's momentum. With
// g = scale·dw + decay·w:
//
//	m ← μ·m + (1−dampening)·g, or g in the first step
//	w ← w − rate·m, with Nesterov w − rate·(g + μ·m)
//
// m may be absent where μ is 0. flag and shadow are those of Adam.
func (b *Backend) SGD(w, m, dw, shadow, hyper, flag device.Array, o device.SGDKind) {
	l := linesOf("SGD", w, m, dw, shadow)
	if hyper.Len() != device.HyperLen || m.Absent() && o.Momentum != 0 {
		panic(shapes("SGD", w, m, hyper))
	}
	if isSet(flag) {
		return
	}
	h := f32(hyper)
	split(b, l.count, l.grain(), sgdTask{
		w: w, m: m, dw: dw, l: l,
		momentum: float64(o.Momentum), fresh: 1 - float64(o.Dampening), nesterov: o.Nesterov,
		rate: float64(h[device.HyperRate]), decay: float64(h[device.HyperDecay]), scale: float64(h[device.HyperScale]),
		first: h[device.HyperFirstStep] != 0,
	})
	if !shadow.Absent() {
		b.Copy(shadow, w)
	}
}

type sgdTask struct {
	w, m, dw           device.Array
	l                  lines
	momentum, fresh    float64
	rate, decay, scale float64
	nesterov, first    bool
}

func (t *sgdTask) span(_, lo, hi int) {
	w, m, dw := f32(t.w), f32(t.m), f32(t.dw)
	for i := lo; i < hi; i++ {
		t.line(t.l.of(w, &t.w, i), t.l.of(m, &t.m, i), t.l.of(dw, &t.dw, i))
	}
}

func (t *sgdTask) line(w, m, dw []float32) {
	dw = dw[:len(w)]
	for i, old := range w {
		g := t.scale*float64(dw[i]) + t.decay*float64(old)
		move := g
		if t.momentum != 0 {
			if !t.first {
				move = t.momentum*float64(m[i]) + t.fresh*g
			}
			m[i] = float32(move)
			if t.nesterov {
				move = g + t.momentum*move
			}
		}
		w[i] = float32(float64(old) - t.rate*move)
	}
}
