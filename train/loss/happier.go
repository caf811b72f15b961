package loss

// Happier is HAPPIER of Ramzi et al. (ECCV 2022; "Optimization of Rank Losses",
// Eq. 22):
//
//	L = Weights[0]·SupHAP + Weights[1]·NSM,  Weights = 1−λ, λ with λ = 0.1
//
// HAPPIER_F, for the finest level, has Alpha 5 (3 on iNaturalist) in the relevance
// and equal weights.
type Happier struct {
	Weights [2]float64 `yaml:"weights"`
	SupHAP  SupHAP     `yaml:"sup_h_ap"`
	NSM     NSM        `yaml:"nsm"`
}

// New makes the loss, whose parameters are the proxies of NSM.
func (l Happier) New(f Facts) (Loss, error) {
	return Sum{Terms: []Term{{Weight: l.Weights[0], Loss: l.SupHAP}, {Weight: l.Weights[1], Loss: l.NSM}}}.New(f)
}

// Released has SupHAP as in the released code.
func (l Happier) Released() Kind {
	l.SupHAP = l.SupHAP.Released().(SupHAP)
	return l
}
