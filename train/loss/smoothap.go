package loss

import "hgld/train/loss/definition"

// SmoothAP is the loss of Brown et al., "Smooth-AP", ECCV 2020: one minus average precision, with
// the step in the rank replaced by a sigmoid of temperature Tau:
//
//	L = 1 − 1/Q Σ_q 1/|P_q| Σ_{k∈P_q} rank⁺(q,k) / rank(q,k)
//	rank(q,k)  = 1 + Σ_{i≠k} σ((s_i − s_k)/Tau)
//	rank⁺(q,k) = 1 + Σ_{i∈P_q, i≠k} σ((s_i − s_k)/Tau)
//
// Query is [Q, D] and Gallery [G, D], rows of unit length; the loss is in [0, 1]. P_q are the
// items that have the query's label at Level.
//
// The paper's pseudo-code (Table S1) divides R_pos by R with R_pos = gt·R, which would always
// give 1. It means rank⁺, as above and in the authors' code.
//
// A query without positives contributes nothing to the mean.
type SmoothAP struct {
	Tau            float64 `yaml:"tau"`   // temperature of the sigmoids
	Level          int     `yaml:"level"` // 0 is the finest
	GalleryOptions `yaml:",inline"`
	ScoreMixing    `yaml:",inline"`
}

var smoothAPEntry = Row{
	Name: "smooth-ap", About: "Smooth-AP (ECCV 2020): average precision with sigmoids instead of steps",
	Source:   "Brown et al., Smooth-AP, ECCV 2020; supplement, Table S1",
	Value:    SmoothAP{Tau: 0.01},
	Rounding: Rounding{2.4e-7, 3.6e-6},
}

// New makes the loss.
func (l SmoothAP) New(f Facts) (Loss, error) {
	mixing, err := l.mixing(f)
	if err != nil {
		return nil, err
	}
	return newRanking(f, ranking{steps: smoothSteps(l.Tau), shared: oneLevel(l.Level, l.GalleryOptions),
		combine: l.MemoryCombine, mixing: mixing})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l SmoothAP) Define(*definition.Batch) definition.Definition {
	return &definition.Ranking{Compared: l.GalleryOptions.at(l.Level),
		Steps: definition.Sigmoids(l.Tau), Mixes: l.UsePosMixup}
}

// Released keeps the query in its own gallery.
func (l SmoothAP) Released() Kind {
	l.GalleryOptions = l.GalleryOptions.released()
	return l
}
