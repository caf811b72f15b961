package loss

// RodRecall is ROD-R@k of Ramzi et al., "Optimization of Rank Losses", with L_DG:
//
//	L = Weights[0]·SupRecall + Weights[1]·Calibration,  Weights = 1−λ, λ with λ = 0.1
//
// The released configurations leave the weights out, which the code reads as 1/2
// each.
type RodRecall struct {
	Weights     [2]float64  `yaml:"weights"`
	SupRecall   SupRecall   `yaml:"sup_recall"`
	Calibration Calibration `yaml:"calibration"`
}

// New makes the loss.
func (l RodRecall) New(f Facts) (Loss, error) {
	return Sum{Terms: []Term{{Weight: l.Weights[0], Loss: l.SupRecall}, {Weight: l.Weights[1], Loss: l.Calibration}}}.New(f)
}

// Released has both terms as in the released code, at equal weights.
func (l RodRecall) Released() Kind {
	l.Weights = [2]float64{0.5, 0.5}
	l.SupRecall, l.Calibration = l.SupRecall.Released().(SupRecall), l.Calibration.Released().(Calibration)
	return l
}
