package loss

// RoadmapArcFace is Roadmap with ArcFace in place of NSM, as the released code has
// it for SOP and iNaturalist:
//
//	L = Weights[0]·SupAP + Weights[1]·ArcFace,  Weights = 1−λ, λ with λ = 0.1
type RoadmapArcFace struct {
	Weights [2]float64 `yaml:"weights"`
	SupAP   SupAP      `yaml:"sup_ap"`
	ArcFace ArcFace    `yaml:"arcface"`
}

// New makes the loss, whose parameters are the proxies of ArcFace.
func (l RoadmapArcFace) New(f Facts) (Loss, error) {
	return Sum{Terms: []Term{{Weight: l.Weights[0], Loss: l.SupAP}, {Weight: l.Weights[1], Loss: l.ArcFace}}}.New(f)
}

// Released has SupAP as in the released code.
func (l RoadmapArcFace) Released() Kind {
	l.SupAP = l.SupAP.Released().(SupAP)
	return l
}
