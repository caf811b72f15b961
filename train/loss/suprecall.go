package loss

import (
	"hgld/train/device"
	"hgld/train/loss/definition"
)

// SupRecall is SmoothRecall with the ranks of SupAP. Negatives are counted by H⁻, positives by
// the exact step (Ramzi et al., "Optimization of Rank Losses", Eq. 16):
//
//	rank(q,k) = 1 + Σ_{i∈P_q, i≠k} H(s_i − s_k) + Σ_{i∉P_q} H⁻(s_i − s_k)
//
// Query is [Q, D] and Gallery [G, D], rows of unit length. A query without positives contributes
// nothing to the mean.
type SupRecall struct {
	HMinus         `yaml:",inline"`
	AtK            []float64    `yaml:"at_k"`  // the values of k
	Temp           Temperatures `yaml:"temp"`  // temperature of the test that a rank is at most k
	Level          int          `yaml:"level"` // 0 is the finest
	GalleryOptions `yaml:",inline"`
	ScoreMixing    `yaml:",inline"`
}

var supRecallEntry = Row{
	Name: "sup-recall", About: "R@k with the upper bound of Sup-AP",
	Source:   "Ramzi et al., Optimization of Rank Losses; Eq. 16",
	Value:    paperSupRecall,
	Rounding: Rounding{1.6e-7, 4.6e-6},
}

// New makes the loss.
func (l SupRecall) New(f Facts) (Loss, error) {
	mixing, err := l.mixing(f)
	if err != nil {
		return nil, err
	}
	return newRanking(f, ranking{
		steps: rankOnly(l.steps()), score: recall(l.AtK, l.Temp),
		shared: oneLevel(l.Level, l.GalleryOptions), combine: l.MemoryCombine, mixing: mixing,
	})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l SupRecall) Define(*definition.Batch) definition.Definition {
	return &definition.Ranking{Compared: l.GalleryOptions.at(l.Level), Steps: l.HMinus.define(),
		Score: device.ScoreRecall, At: l.AtK, Temp: l.Temp.of(l.AtK), Mixes: l.UsePosMixup}
}

// Released keeps the query in its own gallery and uses the H⁻ of the authors' code.
func (l SupRecall) Released() Kind {
	l.HMinus, l.GalleryOptions = l.HMinus.released(), l.GalleryOptions.released()
	return l
}

// recallAt holds the values of k of the published recall losses.
var recallAt = []float64{1, 2, 4, 8, 16}

var paperSupRecall = SupRecall{HMinus: paperStep, AtK: recallAt, Temp: Temperatures{All: 1}}
