package reference

import (
	"math"

	"hgld/train/device"
)

// Adam makes one step by torch's formulas: it updates w, m and v with the gradient g. h is the
// array of device.HyperLen numbers.
func Adam(w, m, v, g *Array, h []float64, o device.AdamKind) {
	b1, b2 := float64(o.Beta1), float64(o.Beta2)
	for i := range w.V {
		d := h[device.HyperScale] * g.V[i]
		if o.Decoupled {
			w.V[i] *= 1 - h[device.HyperRate]*h[device.HyperDecay]
		} else {
			d += h[device.HyperDecay] * w.V[i]
		}
		m.V[i] = b1*m.V[i] + (1-b1)*d
		v.V[i] = b2*v.V[i] + (1-b2)*d*d
		root := math.Sqrt(v.V[i]) / math.Sqrt(h[device.HyperBias2])
		w.V[i] -= h[device.HyperRate] / h[device.HyperBias1] * m.V[i] / (root + float64(o.Eps))
	}
}
