package cpu

import (
	"math"

	"hgld/train/device"
)

// levelsLoss: Σ_c softplus(N_c + P) with N_c = log Σ_{l < L−c} e^(PosScale·(s + margin_c))
// and P = log Σ_{l = L} e^(−PosScale·s).
func levelsLoss[T float32 | float64](ds []float64, s []T, sh []uint8, p *Pairs) (r PairSum) {
	L := uint8(len(p.Margins))
	positive := func(l uint8) bool { return l == L }
	pos := logSum(s, sh, -p.PosScale, positive)
	if math.IsInf(pos, -1) {
		return r
	}
	r.Count[0] = 1
	for c, margin := range p.Margins {
		negative := func(l uint8) bool { return l < L-uint8(c) }
		neg := logSum(s, sh, p.PosScale, negative)
		z := neg + pos + p.PosScale*margin
		if math.IsInf(z, -1) {
			continue
		}
		r.Loss[0] += max(z, 0) + math.Log1p(math.Exp(-math.Abs(z)))
		if ds == nil {
			continue
		}
		slope := p.PosScale * softplusSlope(z)
		for i, l := range sh {
			x := p.PosScale * float64(s[i])
			switch {
			case positive(l):
				ds[i] -= slope * math.Exp(-x-pos)
			case negative(l):
				ds[i] += slope * math.Exp(x-neg)
			}
		}
	}
	return r
}

// softplusSlope is σ, whose clamped form sigmoid is part of the ranks' definition.
func softplusSlope(z float64) float64 {
	if z >= 0 {
		return 1 / (1 + math.Exp(-z))
	}
	e := math.Exp(z)
	return e / (1 + e)
}

// logSum is log Σ e^(scale·s) over the items of some levels; −∞ without any.
func logSum[T float32 | float64](s []T, sh []uint8, scale float64, of func(uint8) bool) float64 {
	top := math.Inf(-1)
	for i, l := range sh {
		if of(l) {
			top = max(top, scale*float64(s[i]))
		}
	}
	if math.IsInf(top, -1) {
		return top
	}
	sum := 0.0
	for i, l := range sh {
		if of(l) {
			sum += math.Exp(scale*float64(s[i]) - top)
		}
	}
	return top + math.Log(sum)
}

// ofProxies is the cross-entropy of softmax over the scores of one positive and the
// negatives, the positive's moved by an angle (Angular) or left out of the sum
// (Ratio).
func ofProxies[T float32 | float64](ds []float64, s []T, sh []uint8, p *Pairs) (r PairSum) {
	pos := -1
	for i, l := range sh {
		if l >= 1 && l != device.AbsentLevel {
			pos = i
			break
		}
	}
	neg := logSum(s, sh, p.PosScale, func(l uint8) bool { return l == 0 })
	if pos < 0 || math.IsInf(neg, -1) {
		return r
	}
	z, slope := float64(s[pos]), 1.0
	if p.Kind == device.Angular {
		z, slope = p.angle(z)
	}
	z *= p.PosScale
	// share is the part of the negatives below the line
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
			ds[i] = p.PosScale * share * math.Exp(p.PosScale*float64(s[i])-neg)
		}
	}
	return r
}

// angle is φ of device.Angular and its slope.
func (p *Pairs) angle(c float64) (phi, slope float64) {
	sin, cos := math.Sincos(p.PosMargin)
	switch {
	case p.Easy && c <= 0:
		return c, 1
	case !p.Easy && c <= math.Cos(math.Pi-p.PosMargin):
		return c - p.PosMargin*math.Sin(math.Pi-p.PosMargin), 1
	}
	sinTheta := math.Sqrt(min(max(1-c*c, 0), 1))
	phi, slope = c*cos-sinTheta*sin, cos
	if sinTheta > 0 {
		slope += c * sin / sinTheta
	}
	return phi, slope
}
