package loss

import "hgld/train/grad"

// RecordedTerm is a term of a loss whose forward pass a tape records.
type RecordedTerm struct {
	Name   string    // key of its settings; "" for the only term of a simple loss
	Weight float64   // weight in the sum
	Kind   Kind      // the loss with its settings
	Params []*Param  // parameters of the term
	Value  *grad.Var // F32 [1], without the weight; kept until the tape is freed
}

// RecordedTerms returns the terms of a loss that is a weighted sum, and nil for any other loss. A term
// that is itself a sum is replaced by its own terms. Value is set by the last Forward.
func RecordedTerms(l Loss) (list []RecordedTerm) {
	s, ok := l.(*sum)
	if !ok {
		return nil
	}
	for i, p := range s.recorded {
		inner := RecordedTerms(s.terms[i])
		if inner == nil {
			list = append(list, p)
		}
		for _, q := range inner {
			q.Name, q.Weight = named(p.Name, q.Name), p.Weight*q.Weight
			list = append(list, q)
		}
	}
	return list
}
