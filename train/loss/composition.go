package loss

import (
	"fmt"
	"slices"

	"hgld/train/loss/definition"
)

// Composition is a weighted sum of registered losses:
//
//	L = Σ_i Terms[i].Weight · L_i
//
// The published methods add to a ranking loss a term that makes the scores of different batches
// comparable ("Optimization of Rank Losses", Eq. 2). The weights are 1−λ and λ, with λ = 0.1.
// That term is Calibration (L_DG), NSM or ArcFace (L*_DG).
//
// The Name of a term is the key of its settings: the registry name with _ for -. If a loss occurs
// more than once, its later terms end in _2, _3 and so on.
type Composition struct {
	Terms []Term // at least one
	// ReleasedWeights are the weights of a released configuration that gives none. The released
	// code then uses 1/n for each of n terms.
	ReleasedWeights []float64

	released bool // the terms were replaced by their released settings
}

// greatestWeight bounds the weight of a term. A greater weight is taken for a typing error.
const greatestWeight = 1e9

// checkWeights returns an error if a weight of a sum is negative or too large.
func checkWeights(weights []float64) error {
	if slices.ContainsFunc(weights, func(w float64) bool { return !(w >= 0 && w <= greatestWeight) }) {
		return fmt.Errorf("weights are %v, want each from 0 to %g", weights, greatestWeight)
	}
	return nil
}

var sumEntry = Row{
	Name: "sum", About: "weighted sum of any of these losses, named by terms; by default 0.9 Smooth-AP + 0.1 NSM",
	Source: "Ramzi et al., Optimization of Rank Losses; Eq. 2",
	Value:  Composition{Terms: []Term{{Name: "smooth_ap", Weight: 0.9, Loss: SmoothAP{Tau: 0.01}}, nsmTerm}},
	Like:   "roadmap",
}

// New makes the loss. Its parameters are the proxies of its terms. If more than one term has
// parameters, their names begin with the name of the term.
func (l Composition) New(f Facts) (Loss, error) {
	if err := checkWeights(l.weights()); err != nil {
		return nil, err
	}
	losses, err := newTerms(l.Terms, f)
	if err != nil {
		return nil, err
	}
	scopes := slices.Clone(l.Terms)
	keeping := 0
	for _, made := range losses {
		_, trained := made.(Trained)
		_, stateful := made.(Stateful)
		if trained || stateful {
			keeping++
		}
	}
	if keeping < 2 {
		for i := range scopes {
			scopes[i].Name = ""
		}
	}
	return newSum(l.Terms, scopes, losses), nil
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (l Composition) Define(in *definition.Batch) definition.Definition {
	return Sum{Terms: l.Terms}.Define(in)
}

// Released sets every term as in the released code.
func (l Composition) Released() Kind {
	l.released, l.Terms = true, slices.Clone(l.Terms)
	for i, t := range l.Terms {
		if s, ok := t.Loss.(Switched); ok {
			l.Terms[i].Loss = s.Released()
		}
		if l.ReleasedWeights != nil {
			l.Terms[i].Weight = l.ReleasedWeights[i]
		}
	}
	return l
}

func (l Composition) terms() []Term { return l.Terms }

// weights returns the weight of each term.
func (l Composition) weights() []float64 {
	list := make([]float64, len(l.Terms))
	for i, t := range l.Terms {
		list[i] = t.Weight
	}
	return list
}
