package loss

import (
	"errors"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/loss/definition"
)

// Sum is a weighted sum of losses of the same batch:
//
//	L = Σ_i Terms[i].Weight · L_i
//
// Weights are always explicit. The released code averages if a configuration leaves them out.
type Sum struct {
	Terms []Term // at least one
}

// Term is a loss in a Sum. Its parameters are named Name.parameter, or just parameter if Name is
// empty.
type Term struct {
	Name   string  // prefix of the names of its parameters and states
	Weight float64 // from 0 up
	Loss   Kind    // any loss
}

// New makes the loss.
func (s Sum) New(f Facts) (Loss, error) {
	losses, err := newTerms(s.Terms, f)
	if err != nil {
		return nil, err
	}
	return newSum(s.Terms, s.Terms, losses), nil
}

// Define returns the definition of the loss on a batch, in float64 and plain loops, see [Kind].
func (s Sum) Define(in *definition.Batch) definition.Definition {
	var sum definition.Sum
	for _, t := range s.Terms {
		of := t.Loss.Define(in)
		if of == nil {
			return nil
		}
		sum = append(sum, definition.Term{Weight: t.Weight, Of: of})
	}
	return sum
}

func (s Sum) terms() []Term { return s.Terms }

// newTerms makes the loss of each term.
func newTerms(terms []Term, f Facts) ([]Loss, error) {
	if len(terms) == 0 {
		return nil, errors.New("the sum has no terms, want at least one")
	}
	var losses []Loss
	for _, term := range terms {
		made, err := term.Loss.New(f)
		if err != nil {
			return nil, err
		}
		losses = append(losses, made)
	}
	return losses, nil
}

// newSum adds up losses, one for each term. scopes are the terms under the names that prefix
// their parameters and states.
func newSum(terms, scopes []Term, losses []Loss) *sum {
	l := &sum{terms: losses}
	for i, term := range scopes {
		l.weights = append(l.weights, float32(term.Weight))
		part := RecordedTerm{Name: terms[i].Name, Weight: term.Weight, Kind: term.Loss}
		if trained, ok := losses[i].(Trained); ok {
			part.Params = trained.Params()
		}
		l.recorded = append(l.recorded, part)
		if keeps, ok := losses[i].(Stateful); ok {
			for _, state := range keeps.States() {
				state.Name = named(term.Name, state.Name)
				l.states = append(l.states, state)
			}
			l.keep = append(l.keep, keeps)
		}
		if trained, ok := losses[i].(Trained); ok {
			for _, p := range trained.Params() {
				p.Name = named(term.Name, p.Name)
				l.params = append(l.params, p)
			}
		}
	}
	return l
}

type sum struct {
	weights  []float32
	terms    []Loss
	params   []*Param
	states   []*State
	keep     []Stateful
	recorded []RecordedTerm
}

// named joins the name of a term and the name of its parameter or state.
func named(term, name string) string {
	if term == "" {
		return name
	}
	return term + "." + name
}

// Params returns the parameters of all terms, in order.
func (l *sum) Params() []*Param { return l.params }

// States returns the states of all terms, in order.
func (l *sum) States() []*State { return l.states }

// Forget calls Forget of every term that has state.
func (l *sum) Forget(t *grad.Tape, flag device.Array) {
	for _, term := range l.keep {
		term.Forget(t, flag)
	}
}

// Forward records the terms and their sum.
func (l *sum) Forward(t *grad.Tape, b *Batch) *grad.Var {
	var values []*grad.Var
	for i, term := range l.terms {
		v := t.Keep(term.Forward(t, b))
		values = append(values, v)
		l.recorded[i].Value = v
	}
	return weighted(t, l.weights, values)
}
