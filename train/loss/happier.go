package loss

// HAPPIER with the settings of its paper and its released configurations.
var (
	happierEntry = Row{
		Name: "happier", About: "HAPPIER: 0.9 Sup-H-AP + 0.1 NSM",
		Source:   "Ramzi et al., HAPPIER, ECCV 2022; Optimization of Rank Losses, Eq. 22",
		Value:    Composition{Terms: []Term{{Name: "sup_h_ap", Weight: 0.9, Loss: paperSupHAP(1)}, nsmTerm}},
		Rounding: Rounding{1.8e-7, 2.2e-6},
	}
	happierFEntry = Row{
		Name: "happier-f", About: "HAPPIER tuned for the finest level: alpha 5 (3 for iNaturalist), equal weights",
		Source: "Ramzi et al., HAPPIER, ECCV 2022; Optimization of Rank Losses, section VII",
		Value: Composition{Terms: []Term{
			{Name: "sup_h_ap", Weight: 0.5, Loss: paperSupHAP(5)}, {Name: "nsm", Weight: 0.5, Loss: paperNSM},
		}},
		Like: "happier",
	}
	happierArcFaceEntry = Row{
		Name: "happier-arcface", About: "HAPPIER with ArcFace instead of NSM: 0.9 Sup-H-AP + 0.1 ArcFace",
		Source: "Ramzi et al., Optimization of Rank Losses; released configuration HAPPIER_SOP_arcface",
		Value: Composition{Terms: []Term{
			{Name: "sup_h_ap", Weight: 0.9, Loss: paperSupHAP(1)}, {Name: "arcface", Weight: 0.1, Loss: ArcFace{S: 30, M: 0.3}},
		}},
		Like: "happier",
	}
)
