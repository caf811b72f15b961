package loss

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/device/reference"
	"hgld/train/loss/definition"
)

// CSL is the cross-level ranking loss of Sun et al., "Dynamic Metric Learning: Towards a Scalable
// Metric Space to Accommodate Multiple Semantic Scales", CVPR 2021, as computed by SupRank's
// code. Each finest class has a proxy p of unit length. A query's own proxy is its positive at
// every level:
//
//	L = 1/Q Σ_q Σ_c softplus(log Σ_{p: differs from q at level c} e^(Scale·⟨q,p⟩) − Scale·⟨q,own⟩ + Scale·Margins[c])
//
// Query is [Q, D], rows of unit length; the loss does not normalise them. Labels must form a
// tree, so that a proxy that differs at a level also differs at all finer ones.
//
// Margins has one entry per level of the data, finest first. Without it, the margins are those of
// the released configurations: .25, .45 for two levels and .25, .35, .45 for three. For other
// depths they are spaced .1 apart around .45; for seven levels that gives the .15 … .75 used for
// iNaturalist.
//
// Reduce selects the sum over levels, as in the released code, or "mean", which divides it by
// their number.
//
// A query without a finest label contributes 0; the mean is over all Q queries. Every class needs
// labels at all coarser levels: without one, it is not known which proxies differ there. The authors
// of the data sets have published no code of this loss.
type CSL struct {
	Scale   float64   `yaml:"scale"`   // inverse temperature
	Margins []float64 `yaml:"margins"` // one for each level, finest first; empty: see above
	Reduce  Reduce    `yaml:"reduce"`  // sum or mean over levels
}

var cslEntry = Row{
	Name: "csl", About: "CSL (CVPR 2021): at every level, a query's own proxy leads all that differ there by a margin",
	Source:   "Sun et al., Dynamic Metric Learning, CVPR 2021; as in SupRank",
	Value:    CSL{Scale: 32},
	Rounding: Rounding{5.3e-7, 9.7e-7},
}

// Reduce selects how the losses of several levels are combined.
type Reduce = choice[reduceNames]

// OverLevels ("sum") adds them; MeanOverLevels ("mean") takes their mean.
const (
	OverLevels Reduce = iota
	MeanOverLevels
)

type reduceNames struct{}

func (reduceNames) words() (string, []string) { return "reduce", []string{"sum", "mean"} }

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
		return nil, fmt.Errorf("labels are known for %d of %d classes, want those of every proxy", len(f.Paths),
			f.Classes[0])
	}
	for c, p := range f.Paths {
		if p != nil && p.Depth() < len(p) {
			return nil, fmt.Errorf("class %d lacks a level, and which proxies differ from it there is not known: want a "+
				"class at every level", c)
		}
	}
	margins := l.margins(levels)
	if len(margins) != levels {
		return nil, fmt.Errorf("%d margins for %d levels, want one for each level", len(margins), levels)
	}
	pairs := device.Pairs{Kind: device.Levels, PosScale: float32(l.Scale), Margins: narrow(margins)}
	return proxied{pairs: pairs, to: levels, paths: f.Paths}.make(f)
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l CSL) Define(in *definition.Batch) definition.Definition {
	levels := len(in.Labels[0])
	sum := definition.Sum{{Weight: 1, Of: definition.Proxied{Pairs: reference.Pairs{Kind: device.Levels, PosScale: l.Scale,
		Margins: l.margins(levels)}}}}
	if l.Reduce == MeanOverLevels {
		sum[0].Weight = 1 / float64(levels)
	}
	return sum
}

// ByRows is true: each query is compared only with the proxies.
func (CSL) ByRows() bool { return true }

// EveryLevel is true: a level that is not known would count as different.
func (CSL) EveryLevel() bool { return true }

// margins returns Margins, or the released margins if there are none.
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
