package loss

import "hgld/train/loss/definition"

// SmoothHAP is one minus hierarchical average precision with sigmoids instead of steps. It is the
// baseline of Ramzi et al., "Hierarchical Average Precision Training for Pertinent Image
// Retrieval", ECCV 2022:
//
//	L = 1 − 1/Q Σ_q Σ_k hrank⁺(q,k)/rank(q,k) / Σ_k r_k
//	rank(q,k)   = 1 + Σ_{i≠k} σ((s_i − s_k)/Tau)
//	hrank⁺(q,k) = r_k + Σ_{i≠k} min(r_i, r_k) σ((s_i − s_k)/Tau)
//
// k runs over the items that share a level with the query; r is their Relevance. Query is [Q, D]
// and Gallery [G, D], rows of unit length; the loss is in [0, 1]. With one level it is SmoothAP.
// A query without positives contributes nothing to the mean.
type SmoothHAP struct {
	Tau            float64   `yaml:"tau"`       // temperature of the sigmoids
	Relevance      Relevance `yaml:"relevance"` // of the levels
	GalleryOptions `yaml:",inline"`
}

var smoothHAPEntry = Row{
	Name: "smooth-h-ap", About: "hierarchical AP with sigmoids instead of steps",
	Source:   "Ramzi et al., HAPPIER, ECCV 2022; Optimization of Rank Losses, Table X",
	Value:    SmoothHAP{Tau: 0.01, Relevance: paperRelevance},
	Rounding: Rounding{6.3e-7, 3.3e-6},
}

// New makes the loss.
func (l SmoothHAP) New(f Facts) (Loss, error) {
	rel, err := l.Relevance.kind(len(f.Classes), l.GalleryOptions)
	if err != nil {
		return nil, err
	}
	return newRanking(f, ranking{steps: smoothSteps(l.Tau), rel: rel, shared: allLevels(l.GalleryOptions),
		combine: l.MemoryCombine})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l SmoothHAP) Define(in *definition.Batch) definition.Definition {
	return &definition.Ranking{Compared: l.GalleryOptions.all(in), Steps: definition.Sigmoids(l.Tau),
		Rel: l.Relevance.define(l.GalleryOptions)}
}

// Released keeps the query in its own gallery and counts it among the items.
func (l SmoothHAP) Released() Kind {
	l.Relevance, l.GalleryOptions = l.Relevance.released(), l.GalleryOptions.released()
	return l
}
