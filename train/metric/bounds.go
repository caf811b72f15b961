package metric

import (
	"cmp"
	"math"
	"slices"
)

// Bounds computes the range of a metric under ties: its least and greatest value over all orders
// of items with equal scores. Every binary metric, ASI, NDCG and AP#l is greatest with the finer
// levels first in each group of ties and least with the coarser ones first, because moving the
// better of two neighbours ahead never lowers it. H-AP and H-R@k order levels by their relevances,
// which need not rise with the levels. H-P@k depends on the item at place k and on those ahead of
// it: each level of the group is tried there.
//
// Only the places of such a group change. Their contribution to a sum in the order of the ranking
// is replaced by that in the best and the worst order. The results differ from whole walks only
// by rounding of float64.
//
// A Bounds is used by one goroutine and reused for every query.
type Bounds struct {
	group    Part // items with equal scores
	arranged Part // the same items in one order
	before   []int
	count    []int // items of the group, by level
	items    []Item
	levels   [2][]int // in the worst and the best order
	own      []ownOrder
	base     []float64 // contribution of the group to each sum
	changed  []float64
}

// ownOrder is a metric with its own order of levels.
type ownOrder struct {
	at     int // index among the sums
	levels [2][]int
	pin    int // place whose item is varied, or −1
}

// NewBounds returns a Bounds for data with the given number of levels.
func NewBounds(levels int) *Bounds {
	worth := make([]float64, levels+1)
	for level := range worth {
		worth[level] = float64(level)
	}
	return &Bounds{before: make([]int, levels+1), count: make([]int, levels+1), levels: orders(worth)}
}

// orders lists the levels from least to greatest worth, and from greatest to least.
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

// worthy is a sum with its own order of levels.
type worthy interface {
	// worth returns how much an item of each level adds.
	worth() []float64
}

// worth returns the relevance.
func (r *relevances) worth() []float64 { return r.rel }

// pinned is a sum that one place decides together with the set of items ahead of it.
type pinned interface {
	worthy
	// pin returns the place, from 0.
	pin() int
}

func (h *hprecision) pin() int { return h.k - 1 }

// Measure writes the least and greatest values of one query in the order of Set.Keys, NaN where a
// metric is undefined. l must have been measured last by the same set. If no items of different
// levels have equal scores, ties change nothing: it writes nothing and returns false.
func (b *Bounds) Measure(least, greatest []float64, l *List) bool {
	if !mixed(l.items) {
		return false
	}
	b.begin(l)
	copy(least, l.sums.at)
	copy(greatest, l.sums.at)
	first, before := 0, b.before // first item with the current score
	for i, item := range l.items {
		if item.Shared&Tied == 0 {
			if i > first+1 { // rare
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
		at := l.Levels*len(l.sums.binary) + i
		if pin, own := m.(pinned); own {
			b.own = append(b.own, ownOrder{at, orders(pin.worth()), pin.pin()})
		} else if w, own := m.(worthy); own && !rising(w.worth()) { // otherwise the order is that of the levels
			b.own = append(b.own, ownOrder{at, orders(w.worth()), -1})
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

// addMixed changes the sums by the orders of items [first, end), if their levels differ. They
// have equal scores and have been counted.
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
	coarsest, finest := l.Levels, 0 // among the shared levels of its items
	for _, item := range run {
		level := int(item.Shared & levelMask)
		b.count[level]++
		coarsest, finest = min(coarsest, level), max(finest, level)
	}
	lo, hi := l.Levels-finest, l.Levels-coarsest // at other levels all are positive or all negative
	b.place(&b.group, l, first)
	b.group.read(run, first+len(run))
	clear(b.base)
	t.add(b.base, &b.group, lo, hi)
	for i, sums := range [][]float64{least, greatest} {
		clear(b.changed)
		b.arrange(l, first, b.levels[i])
		t.add(b.changed, &b.arranged, lo, hi)
		for _, own := range b.own {
			sum := t.graded[own.at-l.Levels*len(t.binary)]
			if at := own.pin - first; own.pin >= 0 && at >= 0 && at < len(run) {
				b.changed[own.at] = b.pinned(sum, l, first, own, at, i == 1)
				continue
			}
			b.arrange(l, first, own.levels[i])
			b.changed[own.at] = sum.AddPart(0, &b.arranged)
		}
		for k, v := range b.changed {
			if v != b.base[k] {
				sums[k] = sums[k] - b.base[k] + v // exact if the group has the only positives
			}
		}
	}
}

// pinned returns the least or the greatest value over the levels of the item at index at of the group,
// with those ahead of it in their worst or best order.
func (b *Bounds) pinned(sum Sum, l *List, first int, own ownOrder, at int, greatest bool) float64 {
	found := math.NaN()
	for level, n := range b.count {
		if n == 0 {
			continue
		}
		for _, order := range own.levels {
			b.count[level]--
			b.arrange(l, first, order)
			b.count[level]++
			b.items = slices.Insert(b.items, at, Item{Shared: byte(level)})
			for i := range b.items {
				b.items[i].Place = int32(first + i)
			}
			b.place(&b.arranged, l, first)
			b.arranged.read(b.items, first+len(b.items))
			if v := sum.AddPart(0, &b.arranged); math.IsNaN(found) || greatest == (v > found) {
				found = v
			}
		}
	}
	return found
}

// place sets p to the place first, after the items that were counted.
func (b *Bounds) place(p *Part, l *List, first int) {
	p.begin(l)
	p.first = first
	copy(p.before, b.before)
}

// arrange fills arranged with the items of the group in the given order of levels.
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
