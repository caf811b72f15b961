package loss

import (
	"hgld/train/device"
	"hgld/train/loss/definition"
)

// SupNDCG is SmoothNDCG with the ranks of SupHAP. Items of a lower level than k are counted by
// H⁻, the others by the exact step, which has no gradient. Where H⁻ bounds the step, the loss
// bounds one minus NDCG from above:
//
//	L = 1 − 1/Q Σ_q Σ_k (2^l_k − 1)/log2(1 + rank(q,k)) / iDCG_q
//	rank(q,k) = 1 + Σ_{i≠k, l_i≥l_k} H(s_i − s_k) + Σ_{l_i<l_k} H⁻(s_i − s_k)
//
// Query is [Q, D] and Gallery [G, D], rows of unit length. A query without positives contributes
// nothing to the mean.
type SupNDCG struct {
	HMinus         `yaml:",inline"`
	GalleryOptions `yaml:",inline"`
}

var supNDCGEntry = Row{
	Name: "sup-ndcg", About: "NDCG over all levels with the upper bound of Sup-AP",
	Source:   "Ramzi et al., Optimization of Rank Losses; Eq. 24",
	Value:    SupNDCG{HMinus: paperStep},
	Rounding: Rounding{2.7e-7, 5.7e-6},
}

// New makes the loss.
func (l SupNDCG) New(f Facts) (Loss, error) {
	return newRanking(f, ranking{
		steps: rankOnly(l.steps()), score: device.Score{Kind: device.ScoreNDCG},
		shared: allLevels(l.GalleryOptions), combine: l.MemoryCombine,
	})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l SupNDCG) Define(in *definition.Batch) definition.Definition {
	return &definition.Ranking{Compared: l.GalleryOptions.all(in), Steps: l.HMinus.define(),
		Score: device.ScoreNDCG}
}

// Released keeps the query in its own gallery and uses the H⁻ of the authors' code.
func (l SupNDCG) Released() Kind {
	l.HMinus, l.GalleryOptions = l.HMinus.released(), l.GalleryOptions.released()
	return l
}
