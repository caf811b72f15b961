package loss

import (
	"hgld/train/device"
	"hgld/train/device/reference"
	"hgld/train/loss/definition"
)

// Calibration is L_DG of ROADMAP (Ramzi et al., NeurIPS 2021; "Optimization of Rank Losses", Eq.
// 7). It makes the scores of different batches comparable: hinges push the scores of positives P
// above PosMargin and those of the others N below NegMargin.
//
//	per-query   1/Q Σ_q (1/|P_q| Σ_{i∈P_q} [PosMargin − s_i]₊ + 1/|N_q| Σ_{i∈N_q} [s_i − NegMargin]₊)
//	violations  Σ_q Σ_{i∈P_q} [PosMargin − s_i]₊ / #(positives below PosMargin)
//	          + Σ_q Σ_{i∈N_q} [s_i − NegMargin]₊ / #(others above NegMargin)
//
// The paper defines the first. Its code computes the second, which is the contrastive loss of
// Hadsell et al. (CVPR 2006) over the whole batch, and normalises rows inside the loss. Query is
// [Q, D] and Gallery [G, D].
//
// An empty sum is 0; the mean is over all Q queries.
type Calibration struct {
	PosMargin      float64       `yaml:"pos_margin"` // positives are pushed above it
	NegMargin      float64       `yaml:"neg_margin"` // the others are pushed below it
	Reduction      PairReduction `yaml:"reduction"`  // which of the two formulas
	Normalise      bool          `yaml:"normalise"`  // normalise the rows first
	Level          int           `yaml:"level"`      // 0 is the finest
	GalleryOptions `yaml:",inline"`
}

var calibrationEntry = Row{
	Name: "calibration", About: "L_DG of ROADMAP (NeurIPS 2021): hinges that push positives above 0.9 and the others " +
		"below 0.6",
	Source:   "Ramzi et al., Robust and Decomposable Average Precision, NeurIPS 2021; Optimization of Rank Losses, Eq. 7",
	Value:    paperCalibration,
	Rounding: Rounding{3.2e-7, 3.5e-7},
}

// PairReduction selects the divisor of a sum of hinges.
type PairReduction = choice[pairReductions]

// PerQuery ("per-query") divides by the number of pairs of each query and sign. Violations
// ("violations") divides by the number of nonzero pairs of each sign over all queries.
const (
	PerQuery PairReduction = iota
	Violations
)

type pairReductions struct{}

func (pairReductions) words() (string, []string) {
	return "reduction", []string{"per-query", "violations"}
}

var paperCalibration = Calibration{PosMargin: 0.9, NegMargin: 0.6}

// New makes the loss.
func (l Calibration) New(f Facts) (Loss, error) {
	mean := device.MeanPairs
	if l.Reduction == Violations {
		mean = device.MeanTerms
	}
	return newPairwise(f, pairwise{
		pairs: device.Pairs{Kind: device.Contrastive, Mean: mean, PosMargin: float32(l.PosMargin),
			NegMargin: float32(l.NegMargin)},
		shared: oneLevel(l.Level, l.GalleryOptions), combine: l.MemoryCombine, normalise: l.Normalise,
	})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l Calibration) Define(*definition.Batch) definition.Definition {
	p := reference.Pairs{Kind: device.Contrastive, Mean: device.MeanPairs, PosMargin: l.PosMargin, NegMargin: l.NegMargin}
	if l.Reduction == Violations {
		p.Mean = device.MeanTerms
	}
	return pairsOf(p, l.Level, l.GalleryOptions, l.Normalise)
}

// Released uses the divisor of the authors' code and rows of unit length.
func (l Calibration) Released() Kind {
	l.Reduction, l.Normalise, l.GalleryOptions = Violations, true, l.GalleryOptions.released()
	return l
}
