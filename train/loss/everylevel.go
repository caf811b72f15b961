package loss

import "slices"

// Leveled is a Kind that may need the class of every item at every level, since it reads relations
// that the labels of others cannot stand for.
type Leveled interface {
	Kind
	// EveryLevel reports whether this Kind does.
	EveryLevel() bool
}

// EveryLevel reports whether a loss refuses items that lack a level above the finest; see Leveled. All
// other losses leave out what is not known.
func EveryLevel(k Kind) bool {
	l, ok := k.(Leveled)
	return ok && l.EveryLevel() || anyTerm(k, EveryLevel)
}

// anyTerm reports whether a loss is a sum with such a term.
func anyTerm(k Kind, is func(Kind) bool) bool {
	s, ok := k.(interface{ terms() []Term })
	return ok && slices.ContainsFunc(s.terms(), func(t Term) bool { return is(t.Loss) })
}
