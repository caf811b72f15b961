package metric

import (
	"math"
	"slices"
)

// Bounds finds between which values ties leave a metric: the least and the greatest over
// all orders of the items with equal scores. Every binary metric, ASI, NDCG and AP#l is
// greatest with the finer levels first in each group of ties, and least with the coarser
// first, because swapping two neighbours so that the better one goes ahead never lowers
// it. H-AP is so by its relevances, which need not rise with the levels.
//
// A Bounds is used by one goroutine, again for each query.
type Bounds struct {
	ties     *List // with its groups
	arranged *List // in one order
	worth    []float64
	order    []int // levels, the best first
}

// NewBounds is for data with the given number of levels.
func NewBounds(levels int) *Bounds {
	return &Bounds{ties: NewList(levels, AverageTies), arranged: NewList(levels, ScoreThenRow),
		worth: make([]float64, levels+1), order: make([]int, levels+1)}
}

// worthy is a metric that orders levels in its own way.
type worthy interface {
	// worth writes how much an item of each level adds, for the counts of a query.
	worth(worth []float64, count []int)
}

// worth of H-AP is the relevance.
func (m HAP) worth(worth []float64, count []int) { m.relevance().Fill(worth, count) }

// Measure writes the least and the greatest values of one query in the order of s.Keys,
// NaN where a metric is undefined. It reads the items as List.ResetItems does. If no items of
// different levels have equal scores it writes nothing and returns false: ties change nothing.
func (b *Bounds) Measure(least, greatest []float64, s Set, items []Item, n int) bool {
	if !mixed(items) {
		return false
	}
	b.ties.ResetItems(items, n)
	for level := range b.worth {
		b.worth[level] = float64(level)
	}
	b.measure(least, greatest, s)
	at := 0
	for _, m := range s {
		if _, ok := m.(Binary); ok {
			at += b.ties.Levels
		}
	}
	for _, m := range s {
		graded, ok := m.(Graded)
		if !ok {
			continue
		}
		if w, own := m.(worthy); own {
			if w.worth(b.worth, b.ties.Count); !rising(b.worth) { // else the order is that of the levels
				b.arrange(false)
				least[at] = valueOf(graded, b.arranged)
				b.arrange(true)
				greatest[at] = valueOf(graded, b.arranged)
			}
		}
		at++
	}
	return true
}

// rising reports whether each number is greater than the one before.
func rising(list []float64) bool {
	for i := 1; i < len(list); i++ {
		if !(list[i] > list[i-1]) {
			return false
		}
	}
	return true
}

// valueOf is NaN where the metric is undefined.
func valueOf(m Graded, l *List) float64 {
	v, defined := m.OfList(l)
	if !defined {
		return math.NaN()
	}
	return v
}

// measure takes all metrics with the levels in the order of their worth.
func (b *Bounds) measure(least, greatest []float64, s Set) {
	b.arrange(false)
	s.Measure(least, b.arranged)
	b.arrange(true)
	s.Measure(greatest, b.arranged)
}

// arrange fills arranged with the groups of ties one item after the other: the worthiest
// first, or last.
func (b *Bounds) arrange(best bool) {
	for level := range b.order {
		b.order[level] = level
	}
	slices.SortStableFunc(b.order, func(x, y int) int {
		switch {
		case b.worth[x] == b.worth[y]:
			return y - x
		case (b.worth[x] > b.worth[y]) == best:
			return -1
		}
		return 1
	})
	t, a := b.ties, b.arranged
	a.N, a.groups = t.N, slices.Grow(a.groups[:0], len(t.groups)+len(t.several))
	copy(a.Count, t.Count)
	next := 0
	for _, at := range t.several {
		a.groups = append(a.groups, t.groups[next:at]...)
		b.spread(t.groups[at])
		next = at + 1
	}
	a.groups = append(a.groups, t.groups[next:]...)
}

// spread appends the positives of a group of several, in the order of the levels.
func (b *Bounds) spread(g group) {
	counts, negatives := b.ties.of(g), g.size
	for _, n := range counts {
		negatives -= n
	}
	first := g.first
	for _, level := range b.order {
		n := negatives
		if level > 0 {
			n = counts[level-1]
		}
		for range n {
			if level > 0 {
				b.arranged.groups = append(b.arranged.groups, group{first: first, size: 1, level: int32(level)})
			}
			first++
		}
	}
}
