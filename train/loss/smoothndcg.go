package loss

import (
	"hgld/train/device"
	"hgld/train/loss/definition"
)

// SmoothNDCG is one minus normalised discounted cumulative gain over all levels, with a sigmoid
// for the step in the rank ("Optimization of Rank Losses", Eq. 24):
//
//	L = 1 − 1/Q Σ_q Σ_k (2^l_k − 1)/log2(1 + rank(q,k)) / iDCG_q
//	rank(q,k) = 1 + Σ_{i≠k} σ((s_i − s_k)/Tau)
//
// l_k is the number of levels that k shares with the query. iDCG is the same sum for the best
// order. Query is [Q, D] and Gallery [G, D], rows of unit length; the loss is in [0, 1]. A query
// without positives contributes nothing to the mean.
type SmoothNDCG struct {
	Tau            float64 `yaml:"tau"` // temperature of the sigmoids
	GalleryOptions `yaml:",inline"`
}

var smoothNDCGEntry = Row{
	Name: "smooth-ndcg", About: "NDCG over all levels with sigmoids instead of steps",
	Source:   "Ramzi et al., Optimization of Rank Losses; Eq. 24 with sigmoids",
	Value:    SmoothNDCG{Tau: 0.01},
	Rounding: Rounding{7.9e-6, 4.2e-6},
}

// New makes the loss.
func (l SmoothNDCG) New(f Facts) (Loss, error) {
	return newRanking(f, ranking{
		steps: rankOnly(smoothSteps(l.Tau)), score: device.Score{Kind: device.ScoreNDCG},
		shared: allLevels(l.GalleryOptions), combine: l.MemoryCombine,
	})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l SmoothNDCG) Define(in *definition.Batch) definition.Definition {
	return &definition.Ranking{Compared: l.GalleryOptions.all(in), Steps: definition.Sigmoids(l.Tau),
		Score: device.ScoreNDCG}
}

// Released keeps the query in its own gallery.
func (l SmoothNDCG) Released() Kind {
	l.GalleryOptions = l.GalleryOptions.released()
	return l
}
