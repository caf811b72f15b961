package metric

import (
	"cmp"
	"slices"
)

// Bounds finds between which values ties leave a metric: the least and the greatest over
// all orders of the items with equal scores. Every binary metric, ASI, NDCG and AP#l is
// greatest with the finer levels first in each group of ties, and least with the coarser
// first, because swapping two neighbours so that the better one goes ahead never lowers
// it. H-AP is so by its relevances, which need not rise with the levels.
//
// Only the places of such a group change, so that what they add to a sum in the order of the
// ranking is replaced by what they add in the best and in the worst order. The ends so differ
// from those of whole walks by the rounding of float64.
//
// A Bounds is used by one goroutine, again for each query.
type Bounds struct {
	group    Part // of equal scores
	arranged Part // the same in one order
	before   []int
	count    []int // items of the group by level
	items    []Item
	levels   [2][]int // in the worst and in the best order
	own      []ownOrder
	base     []float64 // what the group adds to each sum
	changed  []float64
}

// ownOrder is a metric that orders levels in its own way.
type ownOrder struct {
	at     int // among the sums
	levels [2][]int
}

// NewBounds is for data with the given number of levels.
func NewBounds(levels int) *Bounds {
	worth := make([]float64, levels+1)
	for level := range worth {
		worth[level] = float64(level)
	}
	return &Bounds{before: make([]int, levels+1), count: make([]int, levels+1), levels: orders(worth)}
}

// orders lists the levels, the least worthy first and the worthiest first.
func orders(worth []float64) [2][]int {
	worst := make([]int, len(worth))
	for level := range worst {
		worst[level] = level
	}
	slices.SortStableFunc(worst, func(x, y int) int { return cmp.Compare(worth[x], worth[y]) })
	best := slices.Clone(worst)
	slices.Reverse(best)
	return [2][]int{worst, best}
}

// worthy is a sum that orders levels in its own way.
type worthy interface {
	// worth is how much an item of each level adds.
	worth() []float64
}

// worth of H-AP is the relevance.
func (h *hap) worth() []float64 { return h.rel }

// Measure writes the least and the greatest values of one query in the order of Set.Keys, NaN
// where a metric is undefined: those of the set that has measured l last. If no items of
// different levels have equal scores it writes nothing and returns false: ties change nothing.
func (b *Bounds) Measure(least, greatest []float64, l *List) bool {
	if !mixed(l.items) {
		return false
	}
	b.begin(l)
	copy(least, l.sums.at)
	copy(greatest, l.sums.at)
	first, before := 0, b.before // first of those with the score of the item
	for i, item := range l.items {
		if item.Shared&Tied == 0 {
			if i > first+1 { // seldom
				b.addMixed(least, greatest, l, first, i)
			}
			first = i
		}
		before[item.Shared&levelMask]++
	}
	b.addMixed(least, greatest, l, first, len(l.items))
	l.sums.values(least, least, l)
	l.sums.values(greatest, greatest, l)
	return true
}

func (b *Bounds) begin(l *List) {
	clear(b.before)
	b.base = slices.Grow(b.base[:0], len(l.sums.at))[:len(l.sums.at)]
	b.changed = slices.Grow(b.changed[:0], len(l.sums.at))[:len(l.sums.at)]
	b.own = b.own[:0]
	for i, m := range l.sums.graded {
		if w, own := m.(worthy); own && !rising(w.worth()) { // else the order is that of the levels
			b.own = append(b.own, ownOrder{l.Levels*len(l.sums.binary) + i, orders(w.worth())})
		}
	}
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

// addMixed changes the sums by the orders of items [first, end), which have one score and were counted, if
// their levels differ.
func (b *Bounds) addMixed(least, greatest []float64, l *List, first, end int) {
	run := l.items[first:end]
	if !mixed(run) {
		return
	}
	for _, item := range run {
		b.before[item.Shared&levelMask]--
	}
	b.add(least, greatest, l, run)
	for _, item := range run {
		b.before[item.Shared&levelMask]++
	}
}

// add changes the sums by the orders of one group.
func (b *Bounds) add(least, greatest []float64, l *List, run []Item) {
	t, first := &l.sums, int(run[0].Place)
	clear(b.count)
	coarsest, finest := l.Levels, 0 // of the levels shared by its items
	for _, item := range run {
		level := int(item.Shared & levelMask)
		b.count[level]++
		coarsest, finest = min(coarsest, level), max(finest, level)
	}
	lo, hi := l.Levels-finest, l.Levels-coarsest // at other levels all are positive, or none is
	b.place(&b.group, l, first)
	b.group.read(run, first+len(run))
	clear(b.base)
	t.add(b.base, &b.group, lo, hi)
	for i, sums := range [][]float64{least, greatest} {
		clear(b.changed)
		b.arrange(l, first, b.levels[i])
		t.add(b.changed, &b.arranged, lo, hi)
		for _, own := range b.own {
			b.arrange(l, first, own.levels[i])
			b.changed[own.at] = t.graded[own.at-l.Levels*len(t.binary)].AddPart(0, &b.arranged)
		}
		for k, v := range b.changed {
			if v != b.base[k] {
				sums[k] = sums[k] - b.base[k] + v // exact where the group has the only positives
			}
		}
	}
}

// place begins p at a place, behind the items that were counted.
func (b *Bounds) place(p *Part, l *List, first int) {
	p.begin(l)
	p.first = first
	copy(p.before, b.before)
}

// arrange fills arranged with the items of the group one after the other, in an order of levels.
func (b *Bounds) arrange(l *List, first int, levels []int) {
	b.place(&b.arranged, l, first)
	b.items = b.items[:0]
	for _, level := range levels {
		for range b.count[level] {
			b.items = append(b.items, Item{Place: int32(first + len(b.items)), Shared: byte(level)})
		}
	}
	b.arranged.read(b.items, first+len(b.items))
}
