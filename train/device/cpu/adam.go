package cpu

import (
	"math"

	"hgld/train/device"
)

// Adam is one step of Adam (Kingma and Ba, ICLR 2015) or AdamW (Loshchilov and
// Hutter, ICLR 2019) with torch's placing of eps. With g = scale·dw, and decay·w
// added to it unless o.Decoupled, which multiplies w by 1 − rate·decay first:
//
//	m ← β1·m + (1−β1)·g, v ← β2·v + (1−β2)·g²
//	w ← w − rate/bias1 · m / (√v/√bias2 + eps)
//
// Nothing changes where flag, which may be absent, is not zero. shadow, if
// present, receives w in its own type.
func (b *Backend) Adam(w, m, v, dw, shadow, hyper, flag device.Array, o device.AdamKind) {
	l := linesOf("Adam", w, m, v, dw, shadow)
	if hyper.Len() != device.HyperLen {
		panic(shapes("Adam", hyper))
	}
	if isSet(flag) {
		return
	}
	h := f32(hyper)
	split(b, l.count, l.grain(), adamTask{
		w: w, m: m, v: v, dw: dw, l: l,
		beta1: float64(o.Beta1), beta2: float64(o.Beta2), eps: float64(o.Eps), decoupled: o.Decoupled,
		rate: float64(h[device.HyperRate]), decay: float64(h[device.HyperDecay]), scale: float64(h[device.HyperScale]),
		step: float64(h[device.HyperRate]) / float64(h[device.HyperBias1]),
		root: 1 / math.Sqrt(float64(h[device.HyperBias2])),
	})
	if !shadow.Absent() {
		b.Copy(shadow, w)
	}
}

// isSet reports whether a flag is there and not zero.
func isSet(flag device.Array) bool { return !flag.Absent() && i32(flag)[0] != 0 }

type adamTask struct {
	w, m, v, dw                    device.Array
	l                              lines
	beta1, beta2, eps              float64
	rate, decay, scale, step, root float64
	decoupled                      bool
}

func (t *adamTask) span(_, lo, hi int) {
	w, m, v, dw := f32(t.w), f32(t.m), f32(t.v), f32(t.dw)
	for i := lo; i < hi; i++ {
		t.line(t.l.of(w, &t.w, i), t.l.of(m, &t.m, i), t.l.of(v, &t.v, i), t.l.of(dw, &t.dw, i))
	}
}

func (t *adamTask) line(w, m, v, dw []float32) {
	m, v, dw = m[:len(w)], v[:len(w)], dw[:len(w)]
	for i, old := range w {
		x, g := float64(old), t.scale*float64(dw[i])
		if t.decoupled {
			x *= 1 - t.rate*t.decay
		} else {
			g += t.decay * x
		}
		first := t.beta1*float64(m[i]) + (1-t.beta1)*g
		second := t.beta2*float64(v[i]) + (1-t.beta2)*g*g
		m[i], v[i] = float32(first), float32(second)
		w[i] = float32(x - t.step*first/(math.Sqrt(second)*t.root+t.eps))
	}
}
