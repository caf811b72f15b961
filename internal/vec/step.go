package vec

import "math"

// AdamStep holds the constants of one step of Adam:
//
//	g = Scale·dw + Decay·w, m ← Beta1·m + Fresh1·g, v ← Beta2·v + Fresh2·g²
//	w ← Keep·w − Rate·m/(√v·Root + Eps)
type AdamStep struct{ Beta1, Fresh1, Beta2, Fresh2, Scale, Decay, Keep, Rate, Root, Eps float64 }

// Adam updates w, m and v by one step, in float64.
func Adam(w, m, v, dw []float32, o *AdamStep) {
	m, v, dw = m[:len(w)], v[:len(w)], dw[:len(w)]
	for i := adamFast(w, m, v, dw, o); i < len(w); i++ {
		x := float64(w[i])
		g := float64(o.Scale*float64(dw[i])) + float64(o.Decay*x)
		x *= o.Keep
		first := float64(o.Beta1*float64(m[i])) + float64(o.Fresh1*g)
		second := float64(o.Beta2*float64(v[i])) + float64(o.Fresh2*g*g)
		m[i], v[i] = float32(first), float32(second)
		w[i] = float32(x - o.Rate*first/(float64(math.Sqrt(second)*o.Root)+o.Eps))
	}
}

// SGDStep holds the constants of one step of stochastic gradient descent:
//
//	g = Scale·dw + Decay·w, m ← Momentum·m + Fresh·g
//	w ← w − Rate·(Along·g + m·Push)
type SGDStep struct{ Scale, Decay, Momentum, Fresh, Along, Push, Rate float64 }

// SGD updates w and m by one step, in float64.
func SGD(w, m, dw []float32, o *SGDStep) {
	m, dw = m[:len(w)], dw[:len(w)]
	for i := sgdFast(w, m, dw, o); i < len(w); i++ {
		x := float64(w[i])
		g := float64(o.Scale*float64(dw[i])) + float64(o.Decay*x)
		move := float64(o.Momentum*float64(m[i])) + float64(o.Fresh*g)
		m[i] = float32(move)
		w[i] = float32(x - float64(o.Rate*(float64(o.Along*g)+float64(o.Push*move))))
	}
}

// Approach computes dst ← dst + rate·(x − dst) in float64.
func Approach(dst, x []float32, rate float64) {
	x = x[:len(dst)]
	for i := approachFast(dst, x, rate); i < len(dst); i++ {
		old := float64(dst[i])
		dst[i] = float32(old + float64(rate*(float64(x[i])-old)))
	}
}
