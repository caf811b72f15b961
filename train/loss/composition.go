package loss

import (
	"fmt"
	"slices"
)

// Composition is a method with a name of its own that is a weighted sum of other
// losses ("Optimization of Rank Losses", Eq. 2): a rank loss, and a term that makes
// the scores of different batches comparable,
//
//	L = Weights[0]·rank loss + Weights[1]·L_DG,  Weights = 1−λ, λ with λ = 0.1
//
// L_DG is Calibration, or one with proxies, L*_DG: NSM or ArcFace. Which method has
// which is said by the rows of the table. The parts stand in the order of the
// fields, and each is a setting under its name; a part that is nil does not exist.
type Composition struct {
	Weights []float64 `yaml:"weights"` // of the parts, always explicit

	SupAP       *SupAP       `yaml:"sup_ap,omitempty"`
	SupHAP      *SupHAP      `yaml:"sup_h_ap,omitempty"`
	SupNDCG     *SupNDCG     `yaml:"sup_ndcg,omitempty"`
	SupRecall   *SupRecall   `yaml:"sup_recall,omitempty"`
	Calibration *Calibration `yaml:"calibration,omitempty"`
	NSM         *NSM         `yaml:"nsm,omitempty"`
	ArcFace     *ArcFace     `yaml:"arcface,omitempty"`

	// ReleasedWeights are those of a released configuration that leaves them out,
	// which the code reads as 1/n each.
	ReleasedWeights []float64 `yaml:"-"`
}

// tenth is the weights for λ = 0.1.
func tenth() []float64 { return []float64{0.9, 0.1} }

// New makes the loss, whose parameters are the proxies of its parts.
func (l Composition) New(f Facts) (Loss, error) {
	parts := l.Parts()
	if len(parts) != len(l.Weights) {
		return nil, fmt.Errorf("%d weights for %d parts", len(l.Weights), len(parts))
	}
	if slices.ContainsFunc(l.Weights, func(w float64) bool { return !(w >= 0) }) {
		return nil, fmt.Errorf("weights are %v, want numbers from 0 up", l.Weights)
	}
	if l.NSM == nil || l.ArcFace == nil {
		for i := range parts {
			parts[i].Name = "" // there is one set of proxies, which needs no name before its own
		}
	}
	return Sum{Terms: parts}.New(f)
}

// Parts returns the losses that exist, with their weights.
func (l Composition) Parts() (list []Term) {
	list = appendPart(list, "sup_ap", l.SupAP)
	list = appendPart(list, "sup_h_ap", l.SupHAP)
	list = appendPart(list, "sup_ndcg", l.SupNDCG)
	list = appendPart(list, "sup_recall", l.SupRecall)
	list = appendPart(list, "calibration", l.Calibration)
	list = appendPart(list, "nsm", l.NSM)
	list = appendPart(list, "arcface", l.ArcFace)
	for i := range min(len(list), len(l.Weights)) {
		list[i].Weight = l.Weights[i]
	}
	return list
}

func appendPart[K Kind](list []Term, name string, part *K) []Term {
	if part == nil {
		return list
	}
	return append(list, Term{Name: name, Loss: *part})
}

// Released has every part as in the released code.
func (l Composition) Released() Kind {
	l.SupAP, l.SupHAP = releasedPart(l.SupAP), releasedPart(l.SupHAP)
	l.SupNDCG, l.SupRecall = releasedPart(l.SupNDCG), releasedPart(l.SupRecall)
	l.Calibration = releasedPart(l.Calibration)
	if l.ReleasedWeights != nil {
		l.Weights = l.ReleasedWeights
	}
	return l
}

func releasedPart[K Switched](part *K) *K {
	if part == nil {
		return nil
	}
	return new((*part).Released().(K))
}

// ByRows reports whether a loss is a mean over the rows of a batch, of which none
// depends on another: then the losses of its parts add up to that of the whole.
func ByRows(k Kind) bool {
	switch k := k.(type) {
	case NSM, NCAPP, ProxyNCA, ArcFace, CSL, CrossEntropy, SumNSM, SumNCAPP:
		return true
	case Sum:
		for _, term := range k.Terms {
			if !ByRows(term.Loss) {
				return false
			}
		}
		return true
	case Composition:
		return ByRows(Sum{Terms: k.Parts()})
	}
	return false
}
