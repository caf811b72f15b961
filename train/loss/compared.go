package loss

import "hgld/train/device"

// Compared is a Loss that compares a query with other items. It learns from the query's
// positives: the items that share a label with it.
type Compared interface {
	Loss
	// Comparisons returns the rule for positives of each term.
	Comparisons() []Comparison
}

// Comparison says which items are the positives of a query: those that share its label
// at one of the levels [From, To) or more. To 0 means all levels from From up.
type Comparison struct {
	From, To int // levels, finest 0
	// Defined says that a batch without positives still has a loss, from its negatives.
	Defined bool
}

// comparisonsOf returns the comparisons of a loss, or nil if it compares only with proxies.
func comparisonsOf(l Loss) []Comparison {
	if c, ok := l.(Compared); ok {
		return c.Comparisons()
	}
	return nil
}

func comparison(o device.SharedKind) []Comparison {
	return []Comparison{{From: o.From, To: o.To}}
}

// Comparisons returns the rule for the ranked levels.
func (r ranking) Comparisons() []Comparison { return comparison(r.shared) }

// Comparisons returns the rule for the ranked level.
func (l *binned) Comparisons() []Comparison { return comparison(l.shared) }

// Comparisons returns the rule for the ranked level.
func (m moved) Comparisons() []Comparison { return comparison(m.shared) }

// Comparisons returns the rule for the ranked level. The loss is defined without positives in the
// batch, because its mean also runs over the positives of earlier batches.
func (l *ramboMemory) Comparisons() []Comparison {
	c := l.moved.Comparisons()
	c[0].Defined = true
	return c
}

// Comparisons returns the rule for the ranked level; as for ramboMemory.
func (l *blackBoxMemory) Comparisons() []Comparison {
	c := l.moved.Comparisons()
	c[0].Defined = true
	return c
}

// Comparisons returns the rule for the compared level. A triplet needs a positive. The other
// kinds have a loss from negatives alone, unless the positives mine them.
func (p *pairwise) Comparisons() []Comparison {
	c := comparison(p.shared)
	switch p.pairs.Kind {
	case device.Contrastive, device.CrossBatch:
		c[0].Defined = true
	case device.MultiSimilarity:
		c[0].Defined = !p.pairs.Mine
	}
	return c
}

// Comparisons returns the rules of all terms.
func (l *sum) Comparisons() (list []Comparison) {
	for _, term := range l.terms {
		list = append(list, comparisonsOf(term)...)
	}
	return list
}
