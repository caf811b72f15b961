package loss

import (
	"hgld/train/device"
	"hgld/train/device/reference"
	"hgld/train/loss/definition"
)

// Triplet is the loss of Schroff et al., "FaceNet", CVPR 2015, on scores. Every positive p of a
// query should score at least Margin above every other item n:
//
//	L = Σ_q Σ_p Σ_n [s_n − s_p + Margin]₊ / #(triplets with a loss)
//
// Query is [Q, D] and Gallery [G, D]. Mining selects the triplets. "easiest", which the released
// code calls semi-hard, gives each query one triplet: its greatest s_p with the greatest s_n
// strictly below it. If the query is in its own gallery, that p is the query itself and the loss
// is almost always 0.
//
// The released code keeps the query in its own gallery and normalises rows inside the loss.
// Without any triplet the loss is 0.
type Triplet struct {
	Margin         float64 `yaml:"margin"`    // least lead of a positive
	Mining         Mining  `yaml:"mining"`    // which triplets count
	Normalise      bool    `yaml:"normalise"` // normalise the rows first
	Level          int     `yaml:"level"`     // 0 is the finest
	GalleryOptions `yaml:",inline"`
}

var tripletEntry = Row{
	Name: "triplet", About: "triplets (CVPR 2015): every positive leads every other item by a margin",
	Source:   "Schroff et al., FaceNet, CVPR 2015; on scores, all triplets: TL_SH of Optimization of Rank Losses",
	Value:    Triplet{Margin: 0.05},
	Rounding: Rounding{1.3e-6, 4.8e-7},
}

// Mining selects triplets.
type Mining = choice[miningNames]

// AllTriplets ("all") takes every triplet, EasiestPositive ("easiest") one per query.
const (
	AllTriplets Mining = iota
	EasiestPositive
)

type miningNames struct{}

func (miningNames) words() (string, []string) { return "mining", []string{"all", "easiest"} }

// New makes the loss.
func (l Triplet) New(f Facts) (Loss, error) {
	kind := device.Triplet
	if l.Mining == EasiestPositive {
		kind = device.EasyTriplet
	}
	return newPairwise(f, pairwise{
		pairs:  device.Pairs{Kind: kind, Mean: device.MeanTerms, PosMargin: float32(l.Margin)},
		shared: oneLevel(l.Level, l.GalleryOptions), combine: l.MemoryCombine, normalise: l.Normalise,
	})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l Triplet) Define(*definition.Batch) definition.Definition {
	p := reference.Pairs{Kind: device.Triplet, Mean: device.MeanTerms, PosMargin: l.Margin}
	if l.Mining == EasiestPositive {
		p.Kind = device.EasyTriplet
	}
	return pairsOf(p, l.Level, l.GalleryOptions, l.Normalise)
}

// Released keeps the query in its own gallery and normalises the rows.
func (l Triplet) Released() Kind {
	l.Normalise, l.GalleryOptions = true, l.GalleryOptions.released()
	return l
}
