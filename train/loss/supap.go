package loss

import "hgld/train/loss/definition"

// SupAP is the loss of Ramzi et al., "Robust and Decomposable Average Precision for Image
// Retrieval", NeurIPS 2021 ("Optimization of Rank Losses", Eq. 11): an upper bound of one minus
// average precision. Negatives ahead of a positive are counted by H⁻, positives by the exact
// step, which has no gradient:
//
//	L = 1 − 1/Q Σ_q 1/|P_q| Σ_{k∈P_q} rank⁺(q,k) / (rank⁺(q,k) + rank⁻(q,k))
//	rank⁺(q,k) = 1 + Σ_{i∈P_q, i≠k} H(s_i − s_k)
//	rank⁻(q,k) = Σ_{i∉P_q} H⁻(s_i − s_k)
//
// Query is [Q, D] and Gallery [G, D], rows of unit length; the loss is in [0, 1]. The gradient is
// zero once every negative is at least 50·Tau behind every positive.
//
// The loss is an upper bound only where H⁻ is one. It is not at a tie with hminus_at_zero 1/2,
// nor with the released constants for iNaturalist. The paper's Eq. 3 lacks the 1 in rank⁺; its
// Eq. 11 and 34 and the code include it.
//
// A query without positives contributes nothing to the mean.
type SupAP struct {
	HMinus         `yaml:",inline"`
	Level          int `yaml:"level"` // 0 is the finest
	GalleryOptions `yaml:",inline"`
	ScoreMixing    `yaml:",inline"`
}

var supAPEntry = Row{
	Name: "sup-ap", About: "Sup-AP (NeurIPS 2021): an upper bound of 1 − AP",
	Source: "Ramzi et al., Robust and Decomposable Average Precision, NeurIPS 2021; Optimization of Rank Losses, Eq. 4 " +
		"and 11",
	Value:    SupAP{HMinus: paperStep},
	Rounding: Rounding{3.9e-7, 4.9e-6},
}

// New makes the loss.
func (l SupAP) New(f Facts) (Loss, error) {
	mixing, err := l.mixing(f)
	if err != nil {
		return nil, err
	}
	return newRanking(f, ranking{steps: l.steps(), shared: oneLevel(l.Level, l.GalleryOptions), combine: l.MemoryCombine,
		mixing: mixing})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l SupAP) Define(*definition.Batch) definition.Definition {
	return &definition.Ranking{Compared: l.GalleryOptions.at(l.Level), Steps: l.HMinus.define(),
		Mixes: l.UsePosMixup}
}

// Released keeps the query in its own gallery and uses the H⁻ of the authors' code.
func (l SupAP) Released() Kind {
	l.HMinus, l.GalleryOptions = l.HMinus.released(), l.GalleryOptions.released()
	return l
}
