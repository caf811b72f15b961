package loss

import "hgld/train/loss/definition"

// SumNCAPP is NCAPP at several levels, each with its own proxies. It is ΣNCA++ of "Optimization
// of Rank Losses":
//
//	L = Σ_i Weights[i]·NCAPP at Levels[i]
//
// Without Levels it uses all levels of the data, without Weights their mean. No configuration of
// ΣNCA++ was released, so the defaults are those of ΣNSM.
type SumNCAPP struct {
	Weights []float64 `yaml:"weights"` // one for each level; empty: their mean
	Levels  []int     `yaml:"levels"`  // 0 is the finest; empty: all
	Scale   float64   `yaml:"scale"`   // as in NCAPP
}

var sumNCAPPEntry = Row{
	Name: "sum-nca-pp", About: "ΣNCA++: ProxyNCA++ at every level",
	Source: "Ramzi et al., Optimization of Rank Losses; the row ΣNCA++",
	Value:  SumNCAPP{Scale: 3},
	Like:   "nca-pp",
}

// New makes the loss.
func (l SumNCAPP) New(f Facts) (Loss, error) {
	return overLevels(f, l.Levels, l.Weights, func(level int) Kind { return NCAPP{Scale: l.Scale, Level: level} })
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l SumNCAPP) Define(in *definition.Batch) definition.Definition {
	return definition.OverLevels(in, l.Levels, l.Weights, func(level int) definition.Definition {
		return NCAPP{Scale: l.Scale, Level: level}.Define(in)
	})
}

// ByRows is true: each query is compared only with the proxies.
func (SumNCAPP) ByRows() bool { return true }
