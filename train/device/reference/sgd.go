package reference

import "hgld/train/device"

// SGD makes one step by torch's formulas: it updates w and m with the gradient g.
func SGD(w, m, g *Array, h []float64, o device.SGDKind) {
	for i := range w.V {
		d := h[device.HyperScale]*g.V[i] + h[device.HyperDecay]*w.V[i]
		switch {
		case o.Momentum == 0:
		case h[device.HyperFirstStep] != 0:
			m.V[i] = d
		default:
			m.V[i] = float64(o.Momentum)*m.V[i] + (1-float64(o.Dampening))*d
		}
		switch {
		case o.Nesterov:
			d += float64(o.Momentum) * m.V[i]
		case o.Momentum != 0:
			d = m.V[i]
		}
		w.V[i] -= h[device.HyperRate] * d
	}
}
