package reference

import (
	"math"

	"hgld/train/device"
)

// ofProxies is the cross-entropy of softmax over the scores of one positive and the negatives.
// Angular moves scores by an angle; Ratio leaves the positive out of the denominator.
func ofProxies[T float32 | float64](ds []float64, s []T, sh []uint8, p *Pairs) (r PairSum) {
	pos, items := -1, 1 // the positive and all negatives
	for i, l := range sh {
		if l == 0 {
			items++
		} else if pos < 0 && l != device.AbsentLevel {
			pos = i
		}
	}
	if pos < 0 || items == 1 {
		return r
	}
	a, own, other := p.angle(), 0.0, 0.0 // the share of φ in each score
	if p.Kind == device.Angular {
		other = p.Smoothing / float64(items)
		own = 1 - p.Smoothing + other
	}
	neg := logSum(s, sh, func(l uint8) bool { return l == 0 }, func(x float64) float64 {
		z, _ := a.mixed(x, other)
		return p.PosScale * z
	})
	z, slope := a.mixed(float64(s[pos]), own)
	z *= p.PosScale
	// share of each negative in the denominator
	share := 1.0
	r.Loss[0], r.Count[0] = neg-z, 1
	if p.Kind == device.Angular {
		share = softplusSlope(neg - z)
		r.Loss[0] = max(neg-z, 0) + math.Log1p(math.Exp(-math.Abs(neg-z)))
	}
	if ds == nil {
		return r
	}
	ds[pos] = -p.PosScale * slope * share
	for i, l := range sh {
		if l == 0 {
			z, slope := a.mixed(float64(s[i]), other)
			ds[i] = p.PosScale * share * slope * math.Exp(p.PosScale*z-neg)
		}
	}
	return r
}

// angle holds φ of device.Angular: cos(θ + margin) for cos θ above edge, and cos θ − drop below
// it.
type angle struct {
	sin, cos   float64 // of the margin
	edge, drop float64
}

func (p *Pairs) angle() (a angle) {
	a.sin, a.cos = math.Sincos(p.PosMargin)
	if !p.Easy {
		a.edge, a.drop = math.Cos(math.Pi-p.PosMargin), p.PosMargin*math.Sin(math.Pi-p.PosMargin)
	}
	return a
}

// phi returns φ of c = cos θ, and its slope.
func (a *angle) phi(c float64) (phi, slope float64) {
	if c <= a.edge {
		return c - a.drop, 1
	}
	sinTheta := math.Sqrt(min(max(1-c*c, 0), 1))
	phi, slope = c*a.cos-sinTheta*a.sin, a.cos
	if sinTheta > 0 {
		slope += c * a.sin / sinTheta
	}
	return phi, slope
}

// mixed returns h·φ(c) + (1 − h)·c, and its slope.
func (a *angle) mixed(c, h float64) (z, slope float64) {
	if h == 0 {
		return c, 1
	}
	phi, slope := a.phi(c)
	return h*phi + (1-h)*c, h*slope + (1 - h)
}
