package reference

import "math"

// levelsLoss: Σ_c softplus(N_c + P) with N_c = log Σ_{l < L−c} e^(PosScale·(s + margin_c))
// and P = log Σ_{l = L} e^(−PosScale·s).
func levelsLoss[T float32 | float64](ds []float64, s []T, sh []uint8, p *Pairs) (r PairSum) {
	L := uint8(len(p.Margins))
	positive := func(l uint8) bool { return l == L }
	pos := logSum(s, sh, positive, func(x float64) float64 { return -p.PosScale * x })
	if math.IsInf(pos, -1) {
		return r
	}
	r.Count[0] = 1
	for c, margin := range p.Margins {
		negative := func(l uint8) bool { return l < L-uint8(c) }
		neg := logSum(s, sh, negative, func(x float64) float64 { return p.PosScale * x })
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

// softplusSlope is σ. It is not Sigmoid, whose clamp is part of the definition of the ranks.
func softplusSlope(z float64) float64 {
	if z >= 0 {
		return 1 / (1 + math.Exp(-z))
	}
	e := math.Exp(z)
	return e / (1 + e)
}

// logSum returns log Σ e^z(s) over the items of some levels, or −∞ if there are none.
func logSum[T float32 | float64](s []T, sh []uint8, of func(uint8) bool, z func(float64) float64) float64 {
	top := math.Inf(-1)
	for i, l := range sh {
		if of(l) {
			top = max(top, z(float64(s[i])))
		}
	}
	if math.IsInf(top, -1) {
		return top
	}
	sum := 0.0
	for i, l := range sh {
		if of(l) {
			sum += math.Exp(z(float64(s[i])) - top)
		}
	}
	return top + math.Log(sum)
}
