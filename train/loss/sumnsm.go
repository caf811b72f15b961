package loss

import "hgld/train/loss/definition"

// SumNSM is NSM at several levels, each with its own proxies. It is ΣNSM of "Optimization of Rank
// Losses":
//
//	L = Σ_i Weights[i]·NSM at Levels[i]
//
// Without Levels it uses all levels of the data, without Weights their mean, as in the released
// configurations.
type SumNSM struct {
	Weights     []float64 `yaml:"weights"`     // one for each level; empty: their mean
	Levels      []int     `yaml:"levels"`      // 0 is the finest; empty: all
	Temperature float64   `yaml:"temperature"` // as in NSM
}

var sumNSMEntry = Row{
	Name: "sum-nsm", About: "ΣNSM: NSM at every level",
	Source: "Ramzi et al., Optimization of Rank Losses; the row ΣNSM",
	Value:  SumNSM{Temperature: 0.05},
	Like:   "nsm",
}

// New makes the loss.
func (l SumNSM) New(f Facts) (Loss, error) {
	return overLevels(f, l.Levels, l.Weights, func(level int) Kind {
		return NSM{Temperature: l.Temperature, Level: level}
	})
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l SumNSM) Define(in *definition.Batch) definition.Definition {
	return definition.OverLevels(in, l.Levels, l.Weights, func(level int) definition.Definition {
		return definition.NSM{Temperature: l.Temperature, Level: level}
	})
}

// ByRows is true: each query is compared only with the proxies.
func (SumNSM) ByRows() bool { return true }
