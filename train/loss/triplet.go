package loss

import (
	"hgld/internal/registry"
	"hgld/train/device"
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

var tripletEntry = registry.Entry[Kind]{
	Name: "triplet", About: "triplets (CVPR 2015): every positive leads every other item by a margin",
	Source: "Schroff et al., FaceNet, CVPR 2015; on scores, all triplets: TL_SH of Optimization of Rank Losses",
	Value:  Triplet{Margin: 0.05},
}

// Mining selects triplets.
type Mining uint8

// AllTriplets ("all") takes every triplet, EasiestPositive ("easiest") one per query.
const (
	AllTriplets Mining = iota
	EasiestPositive
)

var miningNames = []string{"all", "easiest"}

// MarshalText returns "all" or "easiest".
func (m Mining) MarshalText() ([]byte, error) { return marshalName(miningNames, int(m)) }

// UnmarshalText accepts what MarshalText returns.
func (m *Mining) UnmarshalText(text []byte) error {
	i, err := unmarshalName("mining", miningNames, text)
	*m = Mining(i)
	return err
}

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

// Released keeps the query in its own gallery and normalises the rows.
func (l Triplet) Released() Kind {
	l.Normalise, l.GalleryOptions = true, l.GalleryOptions.released()
	return l
}
