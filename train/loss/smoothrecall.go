package loss

import (
	"hgld/train/device"
	"hgld/train/loss/definition"
)

// SmoothRecall is the recall at k of Patel et al., "Recall@k Surrogate Loss", CVPR 2022, as
// SupRank computes it. The step in the rank and the test that the rank is at most k are both
// sigmoids:
//
//	L = 1 − 1/Q Σ_q 1/|K| Σ_{κ∈K} Σ_{k∈P_q} σ((κ − rank(q,k))/Temp_κ) / min(κ, |P_q|)
//	rank(q,k) = 1 + Σ_{i≠k} σ((s_i − s_k)/Tau)
//
// Query is [Q, D] and Gallery [G, D], rows of unit length. The least value is not 0, because σ is
// 1/2 where the rank is κ. SupRank uses one Temp for all κ. The authors' code takes one for each,
// all of them 1.
//
// RecallAtKOriginal computes what the authors' own code does.
//
// A query without positives contributes nothing to the mean.
type SmoothRecall struct {
	Tau            float64      `yaml:"tau"`   // temperature of the sigmoid in the rank
	AtK            []float64    `yaml:"at_k"`  // the values of k
	Temp           Temperatures `yaml:"temp"`  // temperature of the test that a rank is at most k
	Level          int          `yaml:"level"` // 0 is the finest
	GalleryOptions `yaml:",inline"`
	ScoreMixing    `yaml:",inline"`
}

var smoothRecallEntry = Row{
	Name: "smooth-recall", About: "R@k (CVPR 2022) with sigmoids instead of steps, averaged over several k",
	Source:   "Patel et al., Recall@k Surrogate Loss, CVPR 2022; as in SupRank",
	Value:    SmoothRecall{Tau: 0.01, AtK: recallAt, Temp: Temperatures{All: 1}},
	Rounding: Rounding{2.5e-6, 6.9e-6},
}

// New makes the loss.
func (l SmoothRecall) New(f Facts) (Loss, error) {
	mixing, err := l.mixing(f)
	if err != nil {
		return nil, err
	}
	return newRanking(f, ranking{
		steps: rankOnly(smoothSteps(l.Tau)), score: recall(l.AtK, l.Temp),
		shared: oneLevel(l.Level, l.GalleryOptions), combine: l.MemoryCombine, mixing: mixing,
	})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l SmoothRecall) Define(*definition.Batch) definition.Definition {
	return &definition.Ranking{Compared: l.GalleryOptions.at(l.Level), Steps: definition.Sigmoids(l.Tau),
		Score: device.ScoreRecall, At: l.AtK, Temp: l.Temp.of(l.AtK), Mixes: l.UsePosMixup}
}

// Released keeps the query in its own gallery.
func (l SmoothRecall) Released() Kind {
	l.GalleryOptions = l.GalleryOptions.released()
	return l
}

// rankOnly drops the steps among positives, which recall and NDCG do not read.
func rankOnly(s device.Steps) device.Steps {
	s.Plus = [3]device.Step{}
	return s
}
