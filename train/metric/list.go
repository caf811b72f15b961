package metric

import (
	"cmp"
	"slices"
)

// Ties says how items with equal scores are ordered.
type Ties uint8

// ScoreThenRow takes the ranking as it stands: score falling, then gallery row.
// AverageTies is the mean of the metric over all orders inside every group of
// equal scores, by closed formulas.
const (
	ScoreThenRow Ties = iota
	AverageTies
)

// Tied is the bit of a ranked byte, beside the shared levels, that is set if the score equals
// that of the item before.
const Tied byte = 0x80

const (
	levelMask = 0x7f
	beyond    = 0xff // a place beyond the last item
)

// List is one query's gallery in ranked order, as the metrics read it. It keeps
// the groups of items with equal scores that hold a positive, and how many items
// there are of each level; with ScoreThenRow every positive is a group of its
// own. A List is filled by Reset and used again for the next query.
type List struct {
	Levels int   // L
	N      int   // ranked items
	Count  []int // Count[l]: items that share l levels, l = 0…L

	ties    Ties
	items   []Item // of Reset
	groups  []group
	several []int   // the groups of several
	counts  []int32 // L numbers for each group of several: its items that share 1…L levels
	view    View
	runs    []run
	alone   []int32 // places of a View
}

// group is a run of items with equal scores that holds a positive.
type group struct {
	first int32 // items before it
	size  int32 // items in it
	level int32 // of a group of one: the levels that its item shares
	at    int32 // of a group of several: where its numbers begin in counts
}

// NewList makes a List for data with the given number of levels.
func NewList(levels int, ties Ties) *List {
	return &List{Levels: levels, Count: make([]int, levels+1), ties: ties}
}

// Reset reads the ranked bytes of a query, as Items does.
func (l *List) Reset(shared []byte) {
	n := 0
	l.items, n = Items(l.items[:0], shared)
	l.ResetItems(l.items, n)
}

// ResetItems reads the items of a query, of which n are ranked. See Items.
func (l *List) ResetItems(items []Item, n int) {
	clear(l.Count)
	l.groups, l.several, l.counts = slices.Grow(l.groups[:0], len(items)), l.several[:0], l.counts[:0]
	l.N = n
	if l.ties == AverageTies {
		l.readGroups(items)
	} else {
		l.readItems(items)
	}
	l.Count[0] = l.N
	for _, n := range l.Count[1:] {
		l.Count[0] -= n
	}
}

// readItems makes every positive a group of one.
func (l *List) readItems(items []Item) {
	for _, item := range items {
		if level := item.Shared & levelMask; level > 0 {
			l.count(level)
			l.groups = append(l.groups, group{first: item.Place, size: 1, level: int32(level)})
		}
	}
}

// readGroups makes a group of every run of equal scores with a positive in it.
func (l *List) readGroups(items []Item) {
	for first := 0; first < len(items); {
		end := first + 1
		if end == len(items) || items[end].Shared&Tied == 0 { // nearly always
			l.readItems(items[first:end])
			first = end
			continue
		}
		for end < len(items) && items[end].Shared&Tied != 0 {
			end++
		}
		l.readGroup(items[first:end])
		first = end
	}
}

// readGroup makes a group of several.
func (l *List) readGroup(run []Item) {
	g := group{first: run[0].Place, size: int32(len(run)), at: int32(len(l.counts))}
	for _, item := range run {
		level := item.Shared & levelMask
		if level == 0 {
			continue
		}
		l.count(level)
		g.level = int32(level)
		if int(g.at) == len(l.counts) {
			l.counts = append(l.counts, make([]int32, l.Levels)...)
		}
		l.counts[int(g.at)+int(level)-1]++
	}
	if g.level > 0 {
		l.several = append(l.several, len(l.groups))
		l.groups = append(l.groups, g)
	}
}

func (l *List) count(level byte) {
	if int(level) > l.Levels {
		panic("metric: an item shares more levels than there are")
	}
	l.Count[level]++
}

// of returns the number of items of a group of several that share l+1 levels, at
// index l.
func (l *List) of(g group) []int32 { return l.counts[g.at:][:l.Levels] }

// hits returns the number of items of a group with from ≤ shared levels ≤ to.
func (l *List) hits(g group, from, to int) int {
	if g.size == 1 {
		if int(g.level) >= from && int(g.level) <= to {
			return 1
		}
		return 0
	}
	n := 0
	for _, c := range l.of(g)[from-1 : to] {
		n += int(c)
	}
	return n
}

// Positives returns Σ_{l≥least} n_l.
func (l *List) Positives(least int) int {
	n := 0
	for _, c := range l.Count[least:] {
		n += c
	}
	return n
}

// View is a list with the levels reduced to positive and negative.
type View struct {
	N int // ranked items
	R int // positives

	// Where every positive is a group of its own, places are the items ranked before each of
	// them; otherwise runs are the groups that hold positives. Both are by position.
	single bool
	places []int32
	runs   []run

	// Of places, how many are below R and the sum of the precisions there; only with begun.
	begun  bool
	belowR int
	sumR   float64
}

// run is a group of items with equal scores that holds a positive.
type run struct {
	first  int // items ranked before the run
	size   int // items in it
	hits   int // positives in it
	before int // positives ranked before it
}

// Level returns the view at level h: positive is what shares at least L−h levels.
// It is valid until the next call.
func (l *List) Level(h int) *View {
	least := l.Levels - h
	l.view = View{N: l.N, single: len(l.several) == 0}
	if l.view.single {
		l.view.places = l.placesOf(int32(least))
		l.view.R = len(l.view.places)
		return &l.view
	}
	l.runs = slices.Grow(l.runs[:0], len(l.groups))
	before := 0
	for _, g := range l.groups {
		if hits := l.hits(g, least, l.Levels); hits > 0 {
			l.runs = append(l.runs, run{int(g.first), int(g.size), hits, before})
			before += hits
		}
	}
	l.view.R, l.view.runs = before, l.runs
	return &l.view
}

// placesOf returns the places of the items that share at least so many levels, where each is a
// group of its own. Half of the items of a coarse level may be such, in no order that a
// processor foresees: there is no branch.
func (l *List) placesOf(least int32) []int32 {
	if cap(l.alone) < len(l.groups) {
		l.alone = make([]int32, len(l.groups), cap(l.groups))
	}
	places, n := l.alone[:len(l.groups)], 0
	for _, g := range l.groups {
		places[n] = g.first
		positive := 0
		if g.level >= least {
			positive = 1
		}
		n += positive
	}
	return places[:n]
}

// groups returns the number of groups that hold positives.
func (v *View) groups() int {
	if v.single {
		return len(v.places)
	}
	return len(v.runs)
}

// group returns one of them.
func (v *View) group(i int) run {
	if v.single {
		return run{first: int(v.places[i]), size: 1, hits: 1, before: i}
	}
	return v.runs[i]
}

// within returns the expected number of positives among the first k.
func (v *View) within(k int) float64 {
	if v.single {
		n, _ := slices.BinarySearchFunc(v.places, k, func(place int32, k int) int { return cmp.Compare(int(place), k) })
		return float64(n)
	}
	sum := 0.0
	for _, r := range v.runs {
		if r.first >= k {
			break
		}
		sum += float64(r.hits) * (float64(min(r.size, k-r.first)) / float64(r.size))
	}
	return sum
}
