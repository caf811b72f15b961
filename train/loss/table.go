package loss

import "hgld/internal/registry"

// All is the losses as the papers define them. Where a paper is silent the value
// of the released code stands.
var All = registry.Table[Kind]{
	{Name: "smooth-ap", About: "Smooth-AP (ECCV 2020): average precision with sigmoids for steps", Value: SmoothAP{Tau: 0.01}},
	{Name: "sup-ap", About: "Sup-AP (NeurIPS 2021): an upper bound of 1 − AP", Value: SupAP{HMinus: paperStep}},
	{Name: "smooth-recall", About: "R@k (CVPR 2022) with sigmoids, over several k", Value: SmoothRecall{Tau: 0.01, AtK: recallAt, Temp: 1}},
	{Name: "sup-recall", About: "R@k with the upper bound of Sup-AP", Value: SupRecall{HMinus: paperStep, AtK: recallAt, Temp: 1}},
	{Name: "recall-at-k-original", About: "R@k as its authors computed it, the query counted in ranks", Value: RecallAtKOriginal{Tau: 0.01, AtK: recallAt, Temp: 1}},
	{Name: "smooth-ndcg", About: "NDCG over all levels with sigmoids for steps", Value: SmoothNDCG{Tau: 0.01}},
	{Name: "sup-ndcg", About: "NDCG over all levels with the upper bound of Sup-AP", Value: SupNDCG{HMinus: paperStep}},
	{Name: "smooth-h-ap", About: "hierarchical AP with sigmoids for steps", Value: SmoothHAP{Tau: 0.01, Relevance: paperRelevance}},
	{Name: "sup-h-ap", About: "Sup-H-AP of HAPPIER (ECCV 2022): an upper bound of 1 − H-AP", Value: SupHAP{HMinus: paperStep, HRank: defaultHRank, Relevance: paperRelevance}},
	{Name: "nsm", About: "normalised softmax (BMVC 2019): cross-entropy over proxies of the classes", Value: NSM{Temperature: 0.05}},
	{Name: "roadmap", About: "ROADMAP: 0.9 Sup-AP + 0.1 NSM", Value: Roadmap{
		Weights: [2]float64{0.9, 0.1}, SupAP: SupAP{HMinus: paperStep}, NSM: NSM{Temperature: 0.05},
	}},
	{Name: "happier", About: "HAPPIER: 0.9 Sup-H-AP + 0.1 NSM", Value: Happier{
		Weights: [2]float64{0.9, 0.1}, SupHAP: SupHAP{HMinus: paperStep, HRank: defaultHRank, Relevance: paperRelevance}, NSM: NSM{Temperature: 0.05},
	}},
	{Name: "happier-f", About: "HAPPIER for fine levels: alpha 5 (3 for iNaturalist), equal weights", Value: Happier{
		Weights: [2]float64{0.5, 0.5}, SupHAP: SupHAP{HMinus: paperStep, HRank: defaultHRank, Relevance: Relevance{Type: Population, Alpha: 5}}, NSM: NSM{Temperature: 0.05},
	}},
	{Name: "rod-ndcg", About: "ROD-NDCG: 0.9 Sup-NDCG + 0.1 NSM", Value: RodNDCG{
		Weights: [2]float64{0.9, 0.1}, SupNDCG: SupNDCG{HMinus: paperStep}, NSM: NSM{Temperature: 0.05},
	}},
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
