package loss

// SumNCAPP is NCAPP at several levels, ΣNCA++ of "Optimization of Rank Losses", each
// with proxies of its own:
//
//	L = Σ_i Weights[i]·NCAPP at Levels[i]
//
// Without Levels it is all levels of the data, without Weights their mean. No
// configuration of it was released; this is that of ΣNSM.
type SumNCAPP struct {
	Weights []float64 `yaml:"weights"`
	Levels  []int     `yaml:"levels"`
	Scale   float64   `yaml:"scale"`
}

// New makes the loss.
func (l SumNCAPP) New(f Facts) (Loss, error) {
	return overLevels(f, l.Levels, l.Weights, func(level int) Kind { return NCAPP{Scale: l.Scale, Level: level} })
}
