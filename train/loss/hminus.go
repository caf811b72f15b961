package loss

import (
	"math"

	"hgld/train/device"
	"hgld/train/device/reference"
)

// HMinus holds the settings of H⁻, the step by which the Sup losses count items of a lower level
// ahead of a positive. H⁻ bounds the Heaviside step from above and keeps a slope where an item is
// far ahead (Ramzi et al., "Optimization of Rank Losses", Eq. 4):
//
//	t < 0      σ(t/Tau)
//	t = 0      Zero
//	0 < t ≤ Delta  Start + σ(t/Tau)
//	t > Delta  Rho·(t − Delta) + Offset
//
// The paper's δ is τ·ln((1−ε)/ε) ≈ 0.046 for ε = 0.01. Its code uses 0.05, which is the default
// here. With the released constants, H⁻ drops by 0.05 at Delta (offset 1.44). With those for
// iNaturalist (start 0) it is not an upper bound.
type HMinus struct {
	Tau    float64  `yaml:"tau"`            // temperature of the sigmoids
	Rho    float64  `yaml:"rho"`            // slope beyond Delta; −1: a sigmoid everywhere
	Delta  float64  `yaml:"delta"`          // where the linear piece begins
	Start  float64  `yaml:"start"`          // added to the sigmoid above 0
	Offset *float64 `yaml:"offset"`         // nil: Start + σ(Delta/Tau), which makes H⁻ continuous
	Zero   float64  `yaml:"hminus_at_zero"` // H⁻ at a tie: 1 keeps the bound, the released code has 1/2
}

var paperStep = HMinus{Tau: 0.01, Rho: 100, Delta: 0.05, Start: 0.5, Zero: 1}

// released returns h with the step of the released code for all data sets except iNaturalist,
// which uses start 0 and offset 1.
func (h HMinus) released() HMinus {
	h.Start, h.Offset, h.Zero = 0.5, new(1.44), 0.5
	return h
}

func (h HMinus) step() device.Step {
	s := device.Step{
		Kind: device.Upper, Tau: float32(h.Tau), Rho: float32(h.Rho), Delta: float32(h.Delta),
		Start: float32(h.Start), Zero: float32(h.Zero), AutoOffset: h.Offset == nil,
	}
	if h.Offset != nil {
		s.Offset = float32(*h.Offset)
	}
	return s
}

// steps returns H⁻ for items of a lower level, and the exact step, which has no gradient, for
// items of the same or a higher level.
func (h HMinus) steps() device.Steps {
	exact := device.Step{Kind: device.Heaviside}
	return device.Steps{
		Rank: [3]device.Step{device.Higher: exact, device.Equal: exact, device.Lower: h.step()},
		Plus: [3]device.Step{exact, exact, exact},
	}
}

// define returns steps in float64.
func (h HMinus) define() reference.Steps {
	s := reference.Step{Kind: device.Upper, Tau: h.Tau, Rho: h.Rho, Delta: h.Delta, Start: h.Start, Zero: h.Zero}
	if h.Offset != nil {
		s.Offset = *h.Offset
	} else {
		s.Offset = h.Start + 1/(1+math.Exp(-h.Delta/h.Tau))
	}
	if h.Rho == -1 {
		s = reference.Step{Kind: device.Sigmoid, Tau: h.Tau}
	}
	exact := reference.Step{Kind: device.Heaviside}
	return reference.Steps{Rank: [3]reference.Step{exact, exact, s}, Plus: [3]reference.Step{exact, exact, exact}}
}
