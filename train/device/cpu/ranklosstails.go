package cpu

import "math"

// The tail of a sigmoid as a polynomial without constant term: with y = e^−x,
// x ≥ 0,
//
//	σ(−x) = y/(1+y)  = Σ_n tails[n−1] y^n          within 7e-10
//	σ'(x) = y/(1+y)² = Σ_n tails[terms+n−1] y^n    within 6e-9 (of at most 1/4)
//
// on all of [0, ∞). The nearest pole, y = −1, lies so far from [0, 1] that each
// term wins a factor 5.8. Coefficients: Chebyshev fit of 1/(1+y) and 1/(1+y)²
// on [0, 1], degree 11; a test measures the errors.
const terms = 12

var tails = [2 * terms]float64{
	0.9999999986985918, -0.9999996238930227, 0.9999817581608944, -0.9996482644945015,
	0.9964324327114262, -0.9781379230121537, 0.9121668122784133, -0.7555760439433814,
	0.5076406607462475, -0.24836182864466944, 0.07641902419835983, -0.010917003456908547,

	0.9999999876557768, -1.999996431218085, 2.9998265936149147, -3.9966450705135452,
	4.965790265693359, -5.788694126303448, 6.141077501435024, -5.567936815447452,
	3.9717759871363567, -2.020083971015177, 0.6375199192109207, -0.09263384609540418,
}

// reach is the distance in units of τ beyond which tails are omitted. e^−40 times 10⁶ items is
// 4e-12.
const reach = 40

// prepareTails computes decay[i] = e^−(x[i−1]−x[i])/τ, with zeros at both ends.
func (c *sums) prepareTails(tau float64) {
	n := len(c.x)
	decay, scale := resized(&c.decay, n+1), 1/tau
	for i := 1; i < n; i++ {
		decay[i] = (float64(c.x[i-1]) - float64(c.x[i])) * scale
	}
	c.expNegs(decay[1:n])
	decay[0], decay[n] = 0, 0
}

// tailSums adds to value and slope, for each target, the tails of the sources on one side of
// it. With d the distance between source and target,
//
//	value[j] += vs Σ_i w_i σ(−d/τ)    slope[j] += ds Σ_i w_i σ'(d/τ) / τ
//
// If dir is 1, the sources of target j are the first cut[j], which lie above it. If dir is −1,
// they are those from cut[j] on, which lie below it.
//
// It walks along the sources and keeps F_n = Σ_i w_i e^(−n·d/τ), where d is the distance to
// the current source. The next source updates F_n to F_n·decay^n + w. At a target, whose
// distance contributes y = e^−d/τ, both sums are polynomials Σ_n c_n F_n y^n. A row therefore
// costs O(sources + targets) for any τ.
func (c *sums) tailSums(dir int, cut []int32, tau, vs, ds float64) {
	if len(cut) == 0 || len(c.x) == 0 {
		return
	}
	c.ranges(dir, cut, tau)
	decay := c.decay
	if dir < 0 {
		decay = decay[1:] // from the source below
	}
	resized(&c.out, 2*len(cut))
	if c.plain || !c.sweepFast(dir, decay) {
		c.sweep(dir, decay)
	}
	ds /= tau
	if !c.backward {
		for j := range c.value {
			c.value[j] += vs * c.out[2*j]
		}
	}
	for j := range c.slope {
		c.slope[j] += ds * c.out[2*j+1]
	}
}

// ranges finds the new sources of each target: those from first on, in the direction of the
// sweep, and before stop. It omits sources out of reach. This breaks the chain, and the sums
// restart from zero. near becomes e^−d/τ for the distance to the last source, or 0 for a
// target without one.
func (c *sums) ranges(dir int, cut []int32, tau float64) {
	n := len(cut)
	near, first, stop := resized(&c.near, n), resized(&c.first, n), resized(&c.stop, n)
	far, scale := float32(reach*tau), 1/tau
	i, j, edge := int32(0), 0, int32(0)
	if dir < 0 {
		i, j, edge = int32(len(c.x)-1), n-1, 1
	}
	for range n {
		y, end := c.y[j], cut[j]-edge
		for i != end && apart(c.x[i], y) > far {
			i += int32(dir)
		}
		first[j], stop[j] = i, end
		near[j] = math.Inf(1)
		i = end
		if last := int(end) - dir; last >= 0 && last < len(c.x) {
			near[j] = math.Abs(float64(c.x[last])-float64(y)) * scale
		}
		j += dir
	}
	c.expNegs(near)
}

func apart(a, b float32) float32 { return max(a-b, b-a) }

// sweep visits the targets and writes the value and slope of each to out.
func (c *sums) sweep(dir int, decay []float64) {
	var f [terms]float64
	j := 0
	if dir < 0 {
		j = len(c.near) - 1
	}
	i := int(c.first[j])
	for range c.near {
		if i != int(c.first[j]) {
			i, f = int(c.first[j]), [terms]float64{}
		}
		for ; i != int(c.stop[j]); i += dir {
			shift(&f, decay[i], c.w[i])
		}
		c.out[2*j], c.out[2*j+1] = polynomials(&f, c.near[j])
		j += dir
	}
}

// shift advances the sums to the next source.
func shift(f *[terms]float64, y, w float64) {
	y2 := y * y
	y3, y4 := y2*y, y2*y2
	y5, y6, y7, y8 := y4*y, y4*y2, y4*y3, y4*y4
	f[0] = f[0]*y + w
	f[1] = f[1]*y2 + w
	f[2] = f[2]*y3 + w
	f[3] = f[3]*y4 + w
	f[4] = f[4]*y5 + w
	f[5] = f[5]*y6 + w
	f[6] = f[6]*y7 + w
	f[7] = f[7]*y8 + w
	f[8] = f[8]*(y8*y) + w
	f[9] = f[9]*(y8*y2) + w
	f[10] = f[10]*(y8*y3) + w
	f[11] = f[11]*(y8*y4) + w
}

// polynomials returns both sums at y.
func polynomials(f *[terms]float64, y float64) (v, d float64) {
	power := y
	for n := range f {
		p := f[n] * power
		v += tails[n] * p
		d += tails[terms+n] * p
		power *= y
	}
	return v, d
}

// powers holds 2^−(i/64).
var powers = func() (p [64]float64) {
	for i := range p {
		p[i] = math.Exp2(-float64(i) / 64)
	}
	return p
}()

// expNegs replaces each x ≥ 0 by e^−x with a relative error of 2e-12.
func (c *sums) expNegs(x []float64) {
	if !c.plain {
		x = x[expNegsFast(x):]
	}
	expNegs(x)
}

// expNegs is the loop in Go. It multiplies 2^−(k/64) from a table, a power of two, and the series of
// e^−r for the remainder r < ln2/64.
func expNegs(x []float64) {
	const step = math.Ln2 / 64
	for i, v := range x {
		if v > 700 {
			x[i] = 0
			continue
		}
		k := uint64(v * (1 / step))
		r := v - float64(k)*step
		e := 1 - r*(1-r*(1.0/2-r*(1.0/6-r*(1.0/24))))
		x[i] = e * math.Float64frombits(math.Float64bits(powers[k&63])-k>>6<<52)
	}
}
