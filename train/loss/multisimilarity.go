package loss

import (
	"math"

	"hgld/train/device"
	"hgld/train/device/reference"
	"hgld/train/loss/definition"
)

// MultiSimilarity is the loss of Wang et al., "Multi-Similarity Loss with General Pair
// Weighting", CVPR 2019:
//
//	L = 1/Q Σ_q 1/α log(1 + Σ_p e^(−α(s_p − Base))) + 1/β log(1 + Σ_n e^(β(s_n − Base)))
//
// Mining keeps only the hard items: negatives with s_n > min s_p − MiningMargin and positives
// with s_p < max s_n + MiningMargin. A query left without positives or without negatives
// contributes 0. Positives within Epsilon of 1 are taken for copies of the query and left out.
// Query is [Q, D] and Gallery [G, D], rows of unit length; Normalise divides other rows by their
// length.
//
// The mean is over all Q queries.
type MultiSimilarity struct {
	Alpha          float64 `yaml:"alpha"`         // scale of the positives
	Beta           float64 `yaml:"beta"`          // scale of the others
	Base           float64 `yaml:"base"`          // origin of the scores
	Mining         bool    `yaml:"mining"`        // keep only hard items
	MiningMargin   float64 `yaml:"mining_margin"` // slack of the mining
	Epsilon        float64 `yaml:"epsilon"`       // distance from 1 within which a positive is a copy; 0: none is
	Normalise      bool    `yaml:"normalise"`     // normalise the rows first
	Level          int     `yaml:"level"`         // 0 is the finest
	GalleryOptions `yaml:",inline"`
}

var multiSimilarityEntry = Row{
	Name: "multi-similarity", About: "multi-similarity (CVPR 2019): soft hinges over the hard items of a query",
	Source: "Wang et al., Multi-Similarity Loss with General Pair Weighting, CVPR 2019; its code",
	Value: MultiSimilarity{
		Alpha: 2, Beta: 40, Base: 0.5, Mining: true, MiningMargin: 0.1, Epsilon: 1e-5,
	},
	Rounding: Rounding{3.6e-7, 6.6e-7},
}

// New makes the loss.
func (l MultiSimilarity) New(f Facts) (Loss, error) {
	if err := checkNotNegative("epsilon", l.Epsilon); err != nil {
		return nil, err
	}
	return newPairwise(f, pairwise{
		pairs: device.Pairs{
			Kind: device.MultiSimilarity, PosScale: float32(l.Alpha), NegScale: float32(l.Beta), Base: float32(l.Base),
			Mine: l.Mining, PosMargin: float32(l.MiningMargin), Ceiling: ceiling(l.Epsilon),
		},
		shared: oneLevel(l.Level, l.GalleryOptions), combine: l.MemoryCombine, normalise: l.Normalise,
	})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l MultiSimilarity) Define(*definition.Batch) definition.Definition {
	p := reference.Pairs{Kind: device.MultiSimilarity, PosScale: l.Alpha, NegScale: l.Beta, Base: l.Base, Mine: l.Mining,
		PosMargin: l.MiningMargin, Ceiling: math.Inf(1)}
	if l.Epsilon > 0 {
		p.Ceiling = 1 - l.Epsilon
	}
	return pairsOf(p, l.Level, l.GalleryOptions, l.Normalise)
}

// Released averages the losses against batch and memory, as SupRank does.
func (l MultiSimilarity) Released() Kind {
	l.MemoryCombine = Average
	return l
}
