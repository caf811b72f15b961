package loss

import "hgld/internal/registry"

// All lists the losses with the settings of their papers. Where a paper gives no value, the
// released code's is used.
//
// Each entry is declared beside its loss, with name, summary, source and default settings. In a
// Source, "Optimization of Rank Losses" is Ramzi et al., "Optimization of Rank Losses for Image
// Retrieval", 2023, and SupRank is the code released with it.
var All = registry.Table[Kind]{
	smoothAPEntry,
	supAPEntry,
	smoothRecallEntry,
	supRecallEntry,
	recallAtKOriginalEntry,
	smoothNDCGEntry,
	supNDCGEntry,
	smoothHAPEntry,
	supHAPEntry,
	softBinAPEntry,
	fastAPEntry,
	blackBoxAPEntry,
	ramboRecallEntry,
	ramboDetectionEntry,
	tripletEntry,
	xbmContrastiveEntry,
	multiSimilarityEntry,
	nsmEntry,
	ncappEntry,
	proxyNCAEntry,
	arcFaceEntry,
	cslEntry,
	crossEntropyEntry,
	sumTripletEntry,
	sumNSMEntry,
	sumNCAPPEntry,
	calibrationEntry,
	roadmapEntry,
	roadmapCalibrationEntry,
	roadmapArcFaceEntry,
	happierEntry,
	happierFEntry,
	happierArcFaceEntry,
	rodNDCGEntry,
	rodRecallEntry,
	rodRecallNSMEntry,
	sumEntry,
}

// Presets holds two versions of the table of losses. They differ where the papers leave a choice
// open or the released code deviates from them.
var Presets = registry.Table[registry.Table[Kind]]{
	{Name: "paper", About: "as the papers define it: a query is not in its own gallery, H⁻ is continuous and 1 at a tie",
		Value: All},
	{Name: "released", About: "as the authors' code computes it, with its constants for SOP", Value: released()},
}

// Switched is a Kind that the released code computes differently from the paper.
type Switched interface {
	Kind
	// Released returns the loss with all switches set as in the released code. Constants that
	// differ by data set are those for SOP.
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
