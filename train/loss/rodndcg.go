package loss

// RodNDCG is ROD-NDCG of Ramzi et al., "Optimization of Rank Losses", Eq. 25:
//
//	L = Weights[0]·SupNDCG + Weights[1]·NSM,  Weights = 1−λ, λ with λ = 0.1
type RodNDCG struct {
	Weights [2]float64 `yaml:"weights"`
	SupNDCG SupNDCG    `yaml:"sup_ndcg"`
	NSM     NSM        `yaml:"nsm"`
}

// New makes the loss, whose parameters are the proxies of NSM.
func (l RodNDCG) New(f Facts) (Loss, error) {
	return Sum{Terms: []Term{{Weight: l.Weights[0], Loss: l.SupNDCG}, {Weight: l.Weights[1], Loss: l.NSM}}}.New(f)
}

// Released has SupNDCG as in the released code.
func (l RodNDCG) Released() Kind {
	l.SupNDCG = l.SupNDCG.Released().(SupNDCG)
	return l
}
