package loss

// Roadmap is ROADMAP of Ramzi et al. (NeurIPS 2021; "Optimization of Rank Losses",
// Eq. 2 with the surrogate of Eq. 11 and L*_DG of Eq. 8):
//
//	L = Weights[0]·SupAP + Weights[1]·NSM,  Weights = 1−λ, λ with λ = 0.1
//
// The first keeps the gradient where ranks are wrong, the second makes the scores
// of different batches comparable.
type Roadmap struct {
	Weights [2]float64 `yaml:"weights"`
	SupAP   SupAP      `yaml:"sup_ap"`
	NSM     NSM        `yaml:"nsm"`
}

// New makes the loss, whose parameters are the proxies of NSM.
func (l Roadmap) New(f Facts) (Loss, error) {
	return Sum{Terms: []Term{{Weight: l.Weights[0], Loss: l.SupAP}, {Weight: l.Weights[1], Loss: l.NSM}}}.New(f)
}

// Released has SupAP as in the released code.
func (l Roadmap) Released() Kind {
	l.SupAP = l.SupAP.Released().(SupAP)
	return l
}
