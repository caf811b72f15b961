package loss

import (
	"hgld/train/device"
	"hgld/train/device/reference"
	"hgld/train/loss/definition"
)

// SoftBinAP is AP_Q of Revaud et al., "Learning with Average Precision: Training Image Retrieval
// with a Listwise Loss", ICCV 2019: one minus the average precision of a histogram of the scores
// with NQ bins. A score is split between its two nearest bins in proportion to its distance from
// their centres:
//
//	L = 1 − 1/Q Σ_q 1/|P_q| Σ_m c⁺_m C⁺_m / C_m
//
// c⁺_m counts the positives of bin m. C⁺_m and C_m count positives and all items from the highest
// bin down to m. Query is [Q, D] and Gallery [G, D], rows of unit length. The authors' code has
// 25 bins from 0 to 1. The defaults here are those of ROADMAP's code: 20 bins from −1.
//
// The query is an item of its own gallery and a positive, as in Algorithm 1 of the supplement, whose
// labels Y and scores S run over all B items of the batch.
//
// A query without positives contributes nothing to the mean.
type SoftBinAP struct {
	NQ             int     `yaml:"nq" range:"1 4096"` // number of bins
	Min            float64 `yaml:"min"`               // centre of the last bin
	Max            float64 `yaml:"max"`               // centre of the first bin
	Level          int     `yaml:"level"`             // 0 is the finest
	GalleryOptions `yaml:",inline"`
}

var softBinAPEntry = Row{
	Name: "softbin-ap", About: "AP_Q (ICCV 2019): average precision of a histogram of the scores",
	Source:   "Revaud et al., Learning with Average Precision, ICCV 2019; Eq. 1 to 11 of the supplement",
	Value:    SoftBinAP{NQ: 20, Min: -1, Max: 1, GalleryOptions: GalleryOptions{SelfInGallery: true}},
	Rounding: Rounding{1.8e-6, 5.1e-6},
}

// New makes the loss.
func (l SoftBinAP) New(f Facts) (Loss, error) {
	return newBinned(f, binned{
		bins:   device.Bins{N: l.NQ, Min: float32(l.Min), Max: float32(l.Max)},
		shared: oneLevel(l.Level, l.GalleryOptions), combine: l.MemoryCombine,
	})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l SoftBinAP) Define(*definition.Batch) definition.Definition {
	return &definition.Scored{Compared: l.GalleryOptions.at(l.Level),
		Of: definition.Bins(reference.Bins{N: l.NQ, Min: l.Min, Max: l.Max})}
}

// Released averages the losses against batch and memory.
func (l SoftBinAP) Released() Kind {
	l.GalleryOptions = l.GalleryOptions.released()
	return l
}
