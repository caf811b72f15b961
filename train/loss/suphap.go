package loss

import (
	"hgld/train/device"
	"hgld/train/device/reference"
	"hgld/train/loss/definition"
)

// SupHAP is the loss of HAPPIER (Ramzi et al., "Hierarchical Average Precision
// Training for Pertinent Image Retrieval", ECCV 2022; "Optimization of Rank
// Losses", Eq. 18–21): an upper bound of one minus hierarchical average precision.
//
//	L = 1 − 1/Q Σ_q Σ_k hrank⁺(q,k)/rank(q,k) / Σ_k r_k
//	hrank⁺(q,k) = r_k + Σ_{i≠k} min(r_i, r_k) H(s_i − s_k)
//	rank(q,k)   = 1 + Σ_{i≠k, l_i≥l_k} H(s_i − s_k) + Σ_{l_i<l_k} H⁻(s_i − s_k)
//
// k runs over the items that share l_k ≥ 1 levels with the query; r is their Relevance. The level
// and not the relevance decides between H, which has no gradient, and H⁻. Query is [Q, D] and
// Gallery [G, D], rows of unit length.
//
// HRank gives the numerator a gradient. It is an option of the released code.
//
// With one level it is SupAP. A query without positives contributes nothing to the mean.
type SupHAP struct {
	HMinus         `yaml:",inline"`
	HRank          `yaml:",inline"`
	Relevance      Relevance `yaml:"relevance"` // of the levels
	GalleryOptions `yaml:",inline"`
}

var supHAPEntry = Row{
	Name: "sup-h-ap", About: "Sup-H-AP of HAPPIER (ECCV 2022): an upper bound of 1 − H-AP",
	Source:   "Ramzi et al., HAPPIER, ECCV 2022; Optimization of Rank Losses, Eq. 18 to 21",
	Value:    paperSupHAP(1),
	Rounding: Rounding{4.6e-7, 5.4e-6},
}

// HRank is a smooth step for items of a higher level in hrank⁺: Leak·t up to t = 0, then Beta·t +
// Gamma until it reaches 1.
type HRank struct {
	WithHRank bool    `yaml:"with_hrank"` // use the step below
	Beta      float64 `yaml:"beta"`       // slope above 0
	Gamma     float64 `yaml:"gamma"`      // value just above 0
	Leak      float64 `yaml:"leak"`       // slope below 0
}

// defaultHRank holds the constants of the released code, in which HRank is off.
var defaultHRank = HRank{Beta: 25, Gamma: 0.5, Leak: 10}

// New makes the loss.
func (l SupHAP) New(f Facts) (Loss, error) {
	rel, err := l.Relevance.kind(len(f.Classes), l.GalleryOptions)
	if err != nil {
		return nil, err
	}
	steps := l.steps()
	if l.WithHRank {
		steps.Plus[device.Higher] = device.Step{
			Kind: device.Leak, LeakSlope: float32(l.Leak), Beta: float32(l.Beta), Gamma: float32(l.Gamma),
		}
	}
	return newRanking(f, ranking{steps: steps, rel: rel, shared: allLevels(l.GalleryOptions), combine: l.MemoryCombine})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l SupHAP) Define(in *definition.Batch) definition.Definition {
	steps := l.HMinus.define()
	if l.WithHRank {
		steps.Plus[device.Higher] = reference.Step{Kind: device.Leak, LeakSlope: l.Leak, Beta: l.Beta, Gamma: l.Gamma}
	}
	return &definition.Ranking{Compared: l.GalleryOptions.all(in), Steps: steps,
		Rel: l.Relevance.define(l.GalleryOptions)}
}

// Released keeps the query in its own gallery, counts it among the items, and uses the H⁻ of the
// authors' code.
func (l SupHAP) Released() Kind {
	l.HMinus, l.Relevance, l.GalleryOptions = l.HMinus.released(), l.Relevance.released(), l.GalleryOptions.released()
	return l
}

// paperSupHAP weighs each level by its share of all levels to the power alpha.
func paperSupHAP(alpha float64) SupHAP {
	return SupHAP{HMinus: paperStep, HRank: defaultHRank, Relevance: Relevance{Type: Population, Alpha: alpha}}
}
