package loss

import "hgld/internal/registry"

// All is the losses as the papers define them. Where a paper is silent the value
// of the released code stands.
var All = registry.Table[Kind]{
	{Name: "smooth-ap", About: "Smooth-AP (ECCV 2020): average precision with sigmoids for steps", Value: SmoothAP{Tau: 0.01}},
	{Name: "sup-ap", About: "Sup-AP (NeurIPS 2021): an upper bound of 1 − AP", Value: paperSupAP},
	{Name: "smooth-recall", About: "R@k (CVPR 2022) with sigmoids, over several k", Value: SmoothRecall{Tau: 0.01, AtK: recallAt, Temp: Temperatures{All: 1}}},
	{Name: "sup-recall", About: "R@k with the upper bound of Sup-AP", Value: paperSupRecall},
	{Name: "recall-at-k-original", About: "R@k as its authors computed it, the query counted in ranks", Value: RecallAtKOriginal{Tau: 0.01, AtK: recallAt, Temp: Temperatures{All: 1}}},
	{Name: "smooth-ndcg", About: "NDCG over all levels with sigmoids for steps", Value: SmoothNDCG{Tau: 0.01}},
	{Name: "sup-ndcg", About: "NDCG over all levels with the upper bound of Sup-AP", Value: SupNDCG{HMinus: paperStep}},
	{Name: "smooth-h-ap", About: "hierarchical AP with sigmoids for steps", Value: SmoothHAP{Tau: 0.01, Relevance: paperRelevance}},
	{Name: "sup-h-ap", About: "Sup-H-AP of HAPPIER (ECCV 2022): an upper bound of 1 − H-AP", Value: *supHAP(1)},
	{Name: "softbin-ap", About: "AP_Q (ICCV 2019): average precision of a histogram of the scores", Value: SoftBinAP{NQ: 20, Min: -1, Max: 1}},
	{Name: "fast-ap", About: "FastAP (CVPR 2019): average precision of a histogram of the distances", Value: FastAP{NumBins: 10}},
	{Name: "blackbox-ap", About: "BlackBox-AP (CVPR 2020): average precision by interpolated gradients of the ranks", Value: BlackBoxAP{Lambda: 4, Margin: 0.02}},
	{Name: "rambo-recall", About: "recall of RaMBO (CVPR 2020) by interpolated gradients of the ranks", Value: RamboRecall{Lambda: 4, Margin: 0.02}},
	{Name: "triplet", About: "triplets (CVPR 2015): every positive ahead of every other item by a margin", Value: Triplet{Margin: 0.05}},
	{Name: "xbm-contrastive", About: "contrastive loss of Cross-Batch Memory (CVPR 2020)", Value: XBMContrastive{Margin: 0.5, Epsilon: 1e-5}},
	{Name: "multi-similarity", About: "multi-similarity (CVPR 2019): soft hinges over the mined items of a query", Value: MultiSimilarity{
		Alpha: 2, Beta: 40, Base: 0.5, Mining: true, MiningMargin: 0.1, Epsilon: 1e-5,
	}},
	{Name: "nsm", About: "normalised softmax (BMVC 2019): cross-entropy over proxies of the classes", Value: paperNSM},
	{Name: "nca-pp", About: "ProxyNCA++ (ECCV 2020): softmax over squared distances to proxies", Value: NCAPP{Scale: 3}},
	{Name: "proxy-nca", About: "Proxy-NCA (ICCV 2017): the same without the own proxy below the line", Value: ProxyNCA{Scale: 3}},
	{Name: "arcface", About: "ArcFace (CVPR 2019): softmax over proxies with an angular margin", Value: ArcFace{S: 30, M: 0.5}},
	{Name: "csl", About: "CSL (CVPR 2021): at every level, the own proxy ahead of all that differ there by a margin", Value: CSL{Scale: 32}},
	{Name: "cross-entropy", About: "cross-entropy of a linear classifier (ECCV 2020), its target smoothed", Value: CrossEntropy{Epsilon: 0.1}},
	{Name: "sum-triplet", About: "ΣTL: triplets at every level", Value: SumTriplet{Margin: 0.05}},
	{Name: "sum-nsm", About: "ΣNSM: NSM at every level", Value: SumNSM{Temperature: 0.05}},
	{Name: "sum-nca-pp", About: "ΣNCA++: ProxyNCA++ at every level", Value: SumNCAPP{Scale: 3}},
	{Name: "calibration", About: "L_DG of ROADMAP (NeurIPS 2021): hinges that hold positives above 0.9 and the others below 0.6", Value: paperCalibration},
	{Name: "roadmap", About: "ROADMAP: 0.9 Sup-AP + 0.1 NSM", Value: Composition{Weights: tenth(), SupAP: &paperSupAP, NSM: &paperNSM}},
	{Name: "roadmap-calibration", About: "ROADMAP without proxies: 0.9 Sup-AP + 0.1 calibration", Value: Composition{
		Weights: tenth(), SupAP: &paperSupAP, Calibration: &paperCalibration,
	}},
	{Name: "roadmap-arcface", About: "ROADMAP with ArcFace for NSM: 0.9 Sup-AP + 0.1 ArcFace", Value: Composition{
		Weights: tenth(), SupAP: &paperSupAP, ArcFace: &ArcFace{S: 30, M: 0.5},
	}},
	{Name: "happier", About: "HAPPIER: 0.9 Sup-H-AP + 0.1 NSM", Value: Composition{Weights: tenth(), SupHAP: supHAP(1), NSM: &paperNSM}},
	{Name: "happier-f", About: "HAPPIER for fine levels: alpha 5 (3 for iNaturalist), equal weights", Value: Composition{
		Weights: []float64{0.5, 0.5}, SupHAP: supHAP(5), NSM: &paperNSM,
	}},
	{Name: "happier-arcface", About: "HAPPIER with ArcFace for NSM: 0.9 Sup-H-AP + 0.1 ArcFace", Value: Composition{
		Weights: tenth(), SupHAP: supHAP(1), ArcFace: &ArcFace{S: 30, M: 0.3},
	}},
	{Name: "rod-ndcg", About: "ROD-NDCG: 0.9 Sup-NDCG + 0.1 NSM", Value: Composition{Weights: tenth(), SupNDCG: &SupNDCG{HMinus: paperStep}, NSM: &paperNSM}},
	{Name: "rod-recall", About: "ROD-R@k: 0.9 Sup-R@k + 0.1 calibration", Value: Composition{
		Weights: tenth(), SupRecall: &paperSupRecall, Calibration: &paperCalibration, ReleasedWeights: []float64{0.5, 0.5},
	}},
	{Name: "rod-recall-nsm", About: "ROD-R@k with proxies: 0.9 Sup-R@k + 0.1 NSM", Value: Composition{
		Weights: tenth(), SupRecall: &paperSupRecall, NSM: &paperNSM, ReleasedWeights: []float64{0.5, 0.5},
	}},
}

// What several rows are made of.
var (
	paperSupAP     = SupAP{HMinus: paperStep}
	paperSupRecall = SupRecall{HMinus: paperStep, AtK: recallAt, Temp: Temperatures{All: 1}}
)

func supHAP(alpha float64) *SupHAP {
	return &SupHAP{HMinus: paperStep, HRank: defaultHRank, Relevance: Relevance{Type: Population, Alpha: alpha}}
}

// Presets are the tables of losses by how they settle what the papers leave open
// or the released code does otherwise. What a loss has for settings alone stands
// in both.
var Presets = registry.Table[registry.Table[Kind]]{
	{Name: "paper", About: "as the papers define it: a query is not in its own gallery, H⁻ is continuous and 1 at a tie", Value: All},
	{Name: "released", About: "as the authors' code computes it, with its constants for SOP", Value: released()},
}

// Switched is a Kind that the released code computes otherwise.
type Switched interface {
	Kind
	// Released returns the loss with all its switches as in the released code, with
	// the constants of SOP where those differ by data set.
	Released() Kind
}

func released() registry.Table[Kind] {
	table := make(registry.Table[Kind], len(All))
	for i, e := range All {
		if s, ok := e.Value.(Switched); ok {
			e.Value = s.Released()
		}
		table[i] = e
	}
	return table
}

var recallAt = []float64{1, 2, 4, 8, 16}
