package loss

import "hgld/internal/registry"

// Row is a loss of the table with all that is asked of it.
type Row struct {
	Name, About, Source string   // as in registry.Entry
	Value               Kind     // the loss with the settings of its paper
	Rounding            Rounding // zero if Like is set
	// Like names the row whose golden values are those of this one, for the same loss with other parts or
	// settings.
	Like string
}

// Rounding is the error of the reference in float32 on the golden values, relative to the value and to the
// greatest element of the gradient. Other orders of sums may err ten times as much.
type Rounding struct{ Value, Gradient float64 }

// Rows lists the losses with the settings of their papers. Where a paper gives no value, the released code's
// is used. Each row is declared beside its loss. In a Source, "Optimization of Rank Losses" is Ramzi et al.,
// "Optimization of Rank Losses for Image Retrieval", 2023, and SupRank is the code released with it.
var Rows = []Row{
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

// All is the table of losses.
var All = tableOf(func(k Kind) Kind { return k })

// Presets holds two versions of the table of losses. They differ where the papers leave a choice
// open or the released code deviates from them.
var Presets = registry.Table[registry.Table[Kind]]{
	{Name: "paper", About: "as the papers define it: a query is not in its own gallery, H⁻ is continuous and 1 at a tie",
		Value: All},
	{Name: "released", About: "as the authors' code computes it, with its constants for SOP", Value: tableOf(released)},
}

// Switched is a Kind that the released code computes differently from the paper.
type Switched interface {
	Kind
	// Released returns the loss with all switches set as in the released code. Constants that
	// differ by data set are those for SOP.
	Released() Kind
}

func released(k Kind) Kind {
	if s, ok := k.(Switched); ok {
		return s.Released()
	}
	return k
}

// tableOf returns the table of what settings makes of the losses.
func tableOf(settings func(Kind) Kind) registry.Table[Kind] {
	table := make(registry.Table[Kind], len(Rows))
	for i, r := range Rows {
		table[i] = registry.Entry[Kind]{Name: r.Name, About: r.About, Source: r.Source, Value: settings(r.Value)}
	}
	return table
}
