package loss

import (
	"hgld/train/device"
	"hgld/train/device/reference"
	"hgld/train/loss/definition"
)

// FastAP is the loss of Cakir et al., "Deep Metric Learning to Rank", CVPR 2019: SoftBinAP over
// NumBins bins of the squared distance d² = 2 − 2s between unit vectors, from 0 to 4. This is a
// histogram of the scores with NumBins + 1 centres from 1 down to −1:
//
//	L = 1 − 1/Q Σ_q 1/|P_q| Σ_m h⁺_m H⁺_m / H_m
//
// h⁺_m counts the positives of bin m. H⁺_m and H_m count positives and all items from the
// smallest distance up to m.
//
// Query is [Q, D] and Gallery [G, D]; the loss normalises their rows. The query is never in its
// own gallery. The gradient is the exact one; the authors' own backward pass differs by a factor
// Q/2.
//
// A query without positives contributes nothing to the mean.
type FastAP struct {
	NumBins       int     `yaml:"num_bins" range:"1 4096"` // bins of the histogram, which has one centre more
	Level         int     `yaml:"level"`                   // 0 is the finest
	MemoryCombine Combine `yaml:"memory_combine"`          // joins the losses against batch and memory
}

var fastAPEntry = Row{
	Name: "fast-ap", About: "FastAP (CVPR 2019): average precision of a histogram of the distances",
	Source:   "Cakir et al., Deep Metric Learning to Rank, CVPR 2019; its code",
	Value:    FastAP{NumBins: 10},
	Rounding: Rounding{5.0e-7, 3.6e-6},
}

// New makes the loss.
func (l FastAP) New(f Facts) (Loss, error) {
	return newBinned(f, binned{
		bins:   device.Bins{N: l.NumBins + 1, Min: -1, Max: 1},
		shared: oneLevel(l.Level, GalleryOptions{}), combine: l.MemoryCombine, normalise: true,
	})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l FastAP) Define(*definition.Batch) definition.Definition {
	return &definition.Scored{Compared: GalleryOptions{MemoryCombine: l.MemoryCombine}.at(l.Level),
		Normalise: true, Of: definition.Bins(reference.Bins{N: l.NumBins + 1, Min: -1, Max: 1})}
}

// Released averages the losses against batch and memory, as SupRank does.
func (l FastAP) Released() Kind {
	l.MemoryCombine = Average
	return l
}
