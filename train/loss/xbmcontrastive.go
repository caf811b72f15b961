package loss

import (
	"hgld/train/device"
	"hgld/train/device/reference"
	"hgld/train/loss/definition"
)

// XBMContrastive is the loss of Wang et al., "Cross-Batch Memory for Embedding
// Learning", CVPR 2020:
//
//	L = 1/Q Σ_q (Σ_p (1 − s_p) + Σ_n s_n),  s_p < 1 − Epsilon, s_n > Margin
//
// The second sum is over the scores themselves, not their distance to Margin. A positive within
// Epsilon of 1 is taken for a copy of the query. The query's own row never counts. Query is [Q,
// D] and Gallery [G, D], rows of unit length.
//
// The mean is over all Q queries.
type XBMContrastive struct {
	Margin        float64 `yaml:"margin"`         // negatives count above it
	Epsilon       float64 `yaml:"epsilon"`        // positives count below 1 − Epsilon
	Level         int     `yaml:"level"`          // 0 is the finest
	MemoryCombine Combine `yaml:"memory_combine"` // joins the losses against batch and memory
}

var xbmContrastiveEntry = Row{
	Name: "xbm-contrastive", About: "contrastive loss of Cross-Batch Memory (CVPR 2020)",
	Source:   "Wang et al., Cross-Batch Memory for Embedding Learning, CVPR 2020; its code",
	Value:    XBMContrastive{Margin: 0.5, Epsilon: 1e-5},
	Rounding: Rounding{2.4e-7, 1.5e-7},
}

// New makes the loss.
func (l XBMContrastive) New(f Facts) (Loss, error) {
	if err := checkNotNegative("epsilon", l.Epsilon); err != nil {
		return nil, err
	}
	return newPairwise(f, pairwise{
		pairs:  device.Pairs{Kind: device.CrossBatch, NegMargin: float32(l.Margin), Ceiling: ceiling(l.Epsilon)},
		shared: oneLevel(l.Level, GalleryOptions{}), combine: l.MemoryCombine,
	})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l XBMContrastive) Define(*definition.Batch) definition.Definition {
	p := reference.Pairs{Kind: device.CrossBatch, NegMargin: l.Margin, Ceiling: 1 - l.Epsilon}
	return pairsOf(p, l.Level, GalleryOptions{MemoryCombine: l.MemoryCombine}, false)
}

// Released averages the losses against batch and memory, as SupRank does.
func (l XBMContrastive) Released() Kind {
	l.MemoryCombine = Average
	return l
}
