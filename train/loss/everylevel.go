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
	switch k := k.(type) {
	case Leveled:
		return k.EveryLevel()
	case Sum:
		return anyTerm(k.Terms, EveryLevel)
	case Composition:
		return anyTerm(k.Terms, EveryLevel)
	}
	return false
}

func anyTerm(terms []Term, is func(Kind) bool) bool {
	return slices.ContainsFunc(terms, func(t Term) bool { return is(t.Loss) })
}
