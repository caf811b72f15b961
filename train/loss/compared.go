package loss

import "hgld/train/device"

// Compared is a Loss that compares a query with other items. It learns from the query's
// positives: the items that share a label with it.
type Compared interface {
	Loss
	// Comparisons returns the rule for positives, one for each term.
	Comparisons() []Comparison
}

// Comparison says which items are the positives of a query: those that share its label
// at one of the levels [From, To) or more. To 0 means all levels from From up.
type Comparison struct {
	From, To int // levels, finest 0
	// Defined says that a batch without any positive still has a loss, that of its
	// negatives.
	Defined bool
}

// comparisonsOf returns the comparisons of a loss, or nil if it only compares with
// proxies.
func comparisonsOf(l Loss) []Comparison {
	if c, ok := l.(Compared); ok {
		return c.Comparisons()
	}
	return nil
}

func comparison(o device.SharedKind) []Comparison {
	return []Comparison{{From: o.From, To: o.To}}
}

// Comparisons returns that of the levels which are ranked.
func (r ranking) Comparisons() []Comparison { return comparison(r.shared) }

// Comparisons returns that of the level which is ranked.
func (l *binned) Comparisons() []Comparison { return comparison(l.shared) }

// Comparisons returns that of the level which is ranked.
func (m moved) Comparisons() []Comparison { return comparison(m.shared) }

// Comparisons returns that of the level which is ranked. The mean runs over the
// positives of earlier batches too.
func (l *ramboMemory) Comparisons() []Comparison {
	c := l.moved.Comparisons()
	c[0].Defined = true
	return c
}

// Comparisons returns that of the level whose pairs are compared. A triplet needs a
// positive; in the other kinds negatives alone have a loss, unless they are mined by
// the positives.
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

// Comparisons returns those of all terms.
func (l *sum) Comparisons() (list []Comparison) {
	for _, term := range l.terms {
		list = append(list, comparisonsOf(term)...)
	}
	return list
}
