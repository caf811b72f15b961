package cpu

import (
	"math"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// upper holds the constants of an Upper for sums over pairs, with the slope in
// units of 1/τ. A Sigmoid is an Upper whose middle piece has no start and no end.
type upper struct {
	scale                     float32    // −log2(e)/τ
	rest                      [8]float32 // rounding error of scale, in all lanes
	limit                     [8]float32 // distance beyond which e^−|t|/τ counts as 0
	start, delta, rho, rhoTau float32
	offset, zero              float32
}

func newUpper(f *reference.Step) upper {
	exact := -math.Log2E / f.Tau
	u := upper{scale: float32(exact), zero: 0.5, delta: float32(math.Inf(1))}
	for i := range u.rest {
		u.rest[i], u.limit[i] = float32(exact-float64(u.scale)), float32(-125/exact)
	}
	if f.Kind == device.Upper {
		u.start, u.delta, u.zero = float32(f.Start), float32(f.Delta), float32(f.Zero)
		u.rho, u.offset, u.rhoTau = float32(f.Rho), float32(f.Offset), float32(f.Rho*f.Tau)
	}
	return u
}

// sumPairs adds to value and slope pair by pair. It does not need sorted x and y.
func (c *sums) sumPairs(f *reference.Step) {
	switch {
	case f.Kind == device.Heaviside:
		for j, y := range c.y {
			n := 0
			for _, x := range c.x {
				if x >= y {
					n++
				}
			}
			c.value[j] += float64(n)
		}
	case f.Kind == device.Leak:
		c.leakPairs(f)
	case c.backward:
		u := newUpper(f)
		for i, x := range c.x {
			u.spread(c.slope, x, c.w[i]/f.Tau, c.y, c.plain)
		}
	default:
		u := newUpper(f)
		for j, y := range c.y {
			v, d := u.gather(c.x, y, c.plain)
			c.value[j] += v
			c.slope[j] += d / f.Tau
		}
	}
}

func (c *sums) leakPairs(f *reference.Step) {
	for j, y := range c.y {
		for i, x := range c.x {
			t := float64(x - y)
			c.slope[j] += c.w[i] * f.Slope(t)
			if !c.backward {
				c.value[j] += f.Value(t)
			}
		}
	}
}

// gather returns Σ_i f(x_i − y) and τ times its slope. A pair is computed in float32 with a
// relative error of 3e-7. The sum is in float64.
func (u *upper) gather(x []float32, y float32, plain bool) (value, slope float64) {
	if !plain {
		if value, slope, ok := u.gatherFast(x, y); ok {
			return value, slope
		}
	}
	for _, x := range x {
		t := x - y
		tail, bell := u.near(t)
		v := tail
		switch {
		case t > u.delta:
			v, bell = u.rho*(t-u.delta)+u.offset, u.rhoTau
		case t > 0:
			v = u.start + 1 - tail
		case t == 0:
			v = u.zero
		}
		value += float64(v)
		slope += float64(bell)
	}
	return value, slope
}

// spread adds w τ f'(x − y_j) to slope[j].
func (u *upper) spread(slope []float64, x float32, w float64, y []float32, plain bool) {
	if !plain && u.spreadFast(slope, x, w, y) {
		return
	}
	for j, y := range y {
		t := x - y
		_, bell := u.near(t)
		if t > u.delta {
			bell = u.rhoTau
		}
		slope[j] += w * float64(bell)
	}
}

// near returns σ(−|t|/τ) and the slope of σ at |t|/τ.
func (u *upper) near(t float32) (tail, bell float32) {
	e := float32(math.Exp2((float64(u.scale) + float64(u.rest[0])) * math.Abs(float64(t))))
	r := 1 / (1 + e)
	return e * r, e * r * r
}
