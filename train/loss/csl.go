package loss

import (
	"fmt"

	"hgld/internal/registry"
	"hgld/train/device"
)

// CSL is the cross-level ranking loss of Sun et al., "Dynamic Metric Learning:
// Towards a Scalable Metric Space to Accommodate Multiple Semantic Scales", CVPR
// 2021, as SupRank's code computes it: with a proxy p for each finest class,
// divided by its length, and the own one of a query as the positive at every level,
//
//	L = 1/Q Σ_q Σ_c softplus(log Σ_{p: differs from q at level c} e^(Scale·⟨q,p⟩) − Scale·⟨q,own⟩ + Scale·Margins[c])
//
// Query is [Q, D], rows of unit length: they are not normalised here. Labels must
// be a tree, so that a proxy which differs at a level differs at all finer ones.
//
// Margins are of the levels, finest first, and of as many as the data have. Without
// them they are those of the released configurations: .25 and .45 for two levels,
// .25, .35, .45 for three, and for others Δ = .1 apart around .45, which for seven
// is the .15 … .75 of iNaturalist.
//
// With the reduction "mean" the sum over the levels is divided by their number.
//
// A query without a finest label counts 0; the mean is over all Q. The data sets'
// own authors have published no code of it.
type CSL struct {
	Scale   float64   `yaml:"scale"`   // inverse temperature
	Margins []float64 `yaml:"margins"` // one for each level, finest first; none: see above
	Reduce  Reduce    `yaml:"reduce"`  // sum or mean over the levels
}

var cslEntry = registry.Entry[Kind]{
	Name: "csl", About: "CSL (CVPR 2021): at every level, the own proxy ahead of all that differ there by a margin",
	Source: "Sun et al., Dynamic Metric Learning, CVPR 2021; as in SupRank",
	Value:  CSL{Scale: 32},
}

// Reduce is how the losses of several levels become one.
type Reduce uint8

// OverLevels ("sum") adds them up, MeanOverLevels ("mean") divides by their number.
const (
	OverLevels Reduce = iota
	MeanOverLevels
)

var reduceNames = []string{"sum", "mean"}

// MarshalText returns "sum" or "mean".
func (r Reduce) MarshalText() ([]byte, error) { return marshalName(reduceNames, int(r)) }

// UnmarshalText takes what MarshalText returns.
func (r *Reduce) UnmarshalText(text []byte) error {
	i, err := unmarshalName("reduce", reduceNames, text)
	*r = Reduce(i)
	return err
}

// New makes the loss, with a proxy for each finest class.
func (l CSL) New(f Facts) (Loss, error) {
	levels := len(f.Classes)
	if l.Reduce == MeanOverLevels && levels > 0 {
		l.Reduce = OverLevels
		return Sum{Terms: []Term{{Weight: 1 / float64(levels), Loss: l}}}.New(f)
	}
	if err := checkLevel(0, f); err != nil {
		return nil, err
	}
	if len(f.Paths) != f.Classes[0] {
		return nil, fmt.Errorf("the labels of %d of %d classes are known: the loss needs those of every proxy", len(f.Paths),
			f.Classes[0])
	}
	margins := l.margins(levels)
	if len(margins) != levels {
		return nil, fmt.Errorf("%d margins for %d levels", len(margins), levels)
	}
	pairs := device.Pairs{Kind: device.Levels, PosScale: float32(l.Scale), Margins: narrow(margins)}
	return proxied{pairs: pairs, to: levels, paths: f.Paths}.make(f)
}

// ByRows is true: each query is compared with the proxies alone.
func (CSL) ByRows() bool { return true }

// margins is Margins, or those of the released configurations.
func (l CSL) margins(levels int) []float64 {
	if l.Margins != nil {
		return l.Margins
	}
	switch levels {
	case 2:
		return []float64{0.25, 0.45}
	case 3:
		return []float64{0.25, 0.35, 0.45}
	}
	var margins []float64
	for c := range levels {
		margins = append(margins, 0.45+0.1*(float64(c)-float64(levels-1)/2))
	}
	return margins
}
