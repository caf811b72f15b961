package loss

// ROD-NDCG and ROD-R@k: the sum of ROADMAP with other ranking losses.
var (
	rodNDCGEntry = Row{
		Name: "rod-ndcg", About: "ROD-NDCG: 0.9 Sup-NDCG + 0.1 NSM",
		Source:   "Ramzi et al., Optimization of Rank Losses; Eq. 25",
		Value:    Composition{Terms: []Term{{Name: "sup_ndcg", Weight: 0.9, Loss: SupNDCG{HMinus: paperStep}}, nsmTerm}},
		Rounding: Rounding{1.3e-7, 1.7e-6},
	}
	rodRecallEntry = Row{
		Name: "rod-recall", About: "ROD-R@k: 0.9 Sup-R@k + 0.1 calibration",
		Source: "Ramzi et al., Optimization of Rank Losses; Eq. 16 with Eq. 7",
		Value: Composition{
			Terms: []Term{supRecallTerm, calibrationTerm}, ReleasedWeights: []float64{0.5, 0.5},
		},
		Rounding: Rounding{3.6e-7, 2.4e-6},
	}
	rodRecallNSMEntry = Row{
		Name: "rod-recall-nsm", About: "ROD-R@k with proxies: 0.9 Sup-R@k + 0.1 NSM",
		Source: "Ramzi et al., Optimization of Rank Losses; Eq. 16 with Eq. 8",
		Value:  Composition{Terms: []Term{supRecallTerm, nsmTerm}, ReleasedWeights: []float64{0.5, 0.5}},
		Like:   "rod-recall",
	}
)

var supRecallTerm = Term{Name: "sup_recall", Weight: 0.9, Loss: paperSupRecall}
