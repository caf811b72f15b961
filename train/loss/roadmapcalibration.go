package loss

// RoadmapCalibration is Roadmap with L_DG in place of the proxies ("Optimization of
// Rank Losses", Eq. 2, 7 and 11):
//
//	L = Weights[0]·SupAP + Weights[1]·Calibration,  Weights = 1−λ, λ with λ = 0.1
//
// The code of the NeurIPS paper has the weights 1 and 1.
type RoadmapCalibration struct {
	Weights     [2]float64  `yaml:"weights"`
	SupAP       SupAP       `yaml:"sup_ap"`
	Calibration Calibration `yaml:"calibration"`
}

// New makes the loss.
func (l RoadmapCalibration) New(f Facts) (Loss, error) {
	return Sum{Terms: []Term{{Weight: l.Weights[0], Loss: l.SupAP}, {Weight: l.Weights[1], Loss: l.Calibration}}}.New(f)
}

// Released has both terms as in the released code.
func (l RoadmapCalibration) Released() Kind {
	l.SupAP, l.Calibration = l.SupAP.Released().(SupAP), l.Calibration.Released().(Calibration)
	return l
}
