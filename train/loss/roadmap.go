package loss

// ROADMAP with the settings of its paper and its released configurations.
var (
	roadmapEntry = Row{
		Name: "roadmap", About: "ROADMAP: 0.9 Sup-AP + 0.1 NSM",
		Source: "Ramzi et al., Robust and Decomposable Average Precision, NeurIPS 2021; " +
			"Optimization of Rank Losses, Eq. 2, 8 and 11",
		Value:    Composition{Terms: []Term{supAPTerm, nsmTerm}},
		Rounding: Rounding{1.5e-7, 3.8e-6},
	}
	roadmapCalibrationEntry = Row{
		Name: "roadmap-calibration", About: "ROADMAP without proxies: 0.9 Sup-AP + 0.1 calibration",
		Source: "Ramzi et al., Robust and Decomposable Average Precision, NeurIPS 2021; " +
			"Optimization of Rank Losses, Eq. 2, 7 and 11",
		Value: Composition{Terms: []Term{supAPTerm, calibrationTerm}},
		Like:  "roadmap",
	}
	roadmapArcFaceEntry = Row{
		Name: "roadmap-arcface", About: "ROADMAP with ArcFace instead of NSM: 0.9 Sup-AP + 0.1 ArcFace",
		Source: "Ramzi et al., Optimization of Rank Losses; released configurations ROADMAP_pp_arcface",
		Value:  Composition{Terms: []Term{supAPTerm, {Name: "arcface", Weight: 0.1, Loss: ArcFace{S: 30, M: 0.5}}}},
		Like:   "roadmap",
	}
)

// Terms shared by several compositions, weighted 1−λ and λ with λ = 0.1.
var (
	supAPTerm       = Term{Name: "sup_ap", Weight: 0.9, Loss: SupAP{HMinus: paperStep}}
	nsmTerm         = Term{Name: "nsm", Weight: 0.1, Loss: paperNSM}
	calibrationTerm = Term{Name: "calibration", Weight: 0.1, Loss: paperCalibration}
)
