package metric

import (
	"math"
	"slices"
)

// Part is a range of places in one query's ranking, with the groups of equal scores there that
// hold a positive. With ScoreThenRow every positive is a group of one.
type Part struct {
	*List // the list that it is a part of

	first, end int   // its places, from 0
	before     []int // before[l]: items ranked before it that share l levels, l = 1…L

	// If single is set, every positive is a group of one. These are the positives by place, and
	// the levels that each shares. After the last, places has a sentinel that no item reaches.
	single bool
	places []int32
	shared []uint8

	groups []group // if single is not set
	counts []int32 // L numbers for each group of several: items that share 1…L levels

	view View
}

// group is a run of items with equal scores that holds a positive.
type group struct {
	first int32 // items before it
	size  int32 // items in it
	level int32 // of a group of one: shared levels of its item
	at    int32 // of a group of several: index of its numbers in counts
}

// begin sets p to an empty part before the first place of l.
func (p *Part) begin(l *List) {
	p.List, p.first, p.end = l, 0, 0
	p.before = slices.Grow(p.before[:0], l.Levels+1)[:l.Levels+1]
	clear(p.before)
	p.empty()
}

func (p *Part) empty() {
	p.single = true
	p.places, p.shared, p.groups, p.counts = p.places[:0], p.shared[:0], p.groups[:0], p.counts[:0]
}

// read reads the items of the places up to end.
func (p *Part) read(items []Item, end int) {
	p.end = end
	if p.ties.grouped(items) {
		p.single = false
		p.readGroups(items)
		return
	}
	p.places = slices.Grow(p.places[:0], len(items)+1)[:len(items)+1]
	p.shared = slices.Grow(p.shared[:0], len(items))[:len(items)]
	n := 0
	for _, item := range items { // may include negatives; the loop has no branch
		level := item.Shared & levelMask
		p.places[n], p.shared[n] = item.Place, level
		n += int((level + levelMask) >> 7)
	}
	p.places[n] = nowhere
	p.places, p.shared = p.places[:n], p.shared[:n]
}

// nowhere is a place after all others.
const nowhere = math.MaxInt32

// stopped returns places with the sentinel nowhere that follows them.
func stopped(places []int32) []int32 { return places[:len(places)+1] }

// readGroups makes a group of every run of equal scores that holds a positive.
func (p *Part) readGroups(items []Item) {
	for len(items) > 0 {
		n := tied(items)
		if level := items[0].Shared & levelMask; n > 1 {
			p.readGroup(items[:n])
		} else if level > 0 {
			p.groups = append(p.groups, group{first: items[0].Place, size: 1, level: int32(level)})
		}
		items = items[n:]
	}
}

// tied returns how many of the first items have equal scores.
func tied(items []Item) int {
	n := 1
	for n < len(items) && items[n].Shared&Tied != 0 {
		n++
	}
	return n
}

// readGroup makes a group of several items.
func (p *Part) readGroup(run []Item) {
	g := group{first: run[0].Place, size: int32(len(run)), at: int32(len(p.counts))}
	p.counts = append(p.counts, make([]int32, p.Levels)...)
	any := byte(0)
	for _, item := range run {
		if level := item.Shared & levelMask; level > 0 {
			any |= level
			p.counts[int(g.at)+int(level)-1]++
		}
	}
	if any == 0 {
		p.counts = p.counts[:g.at]
		return
	}
	p.groups = append(p.groups, g)
}

// pass moves p to the place after its last, without any items.
func (p *Part) pass() {
	for _, level := range p.shared {
		p.before[level]++
	}
	for _, g := range p.groups {
		p.passGroup(p.before, g)
	}
	p.first = p.end
	p.empty()
}

// passGroup adds the items of a group to before.
func (p *Part) passGroup(before []int, g group) {
	if g.size == 1 {
		before[g.level]++
		return
	}
	for i, n := range p.of(g) {
		before[i+1] += int(n)
	}
}

// of returns, at index l, the number of items that share l+1 levels in a group of several.
func (p *Part) of(g group) []int32 { return p.counts[g.at:][:p.Levels] }

// hits returns the number of items of a group with from ≤ shared levels ≤ to.
func (p *Part) hits(g group, from, to int) int {
	if g.size == 1 {
		if int(g.level) >= from && int(g.level) <= to {
			return 1
		}
		return 0
	}
	n := 0
	for _, c := range p.of(g)[from-1 : to] {
		n += int(c)
	}
	return n
}

// beforeAt returns how many items ranked before the part share from ≤ l ≤ to levels.
func (p *Part) beforeAt(from, to int) int {
	n := 0
	for _, c := range p.before[from : to+1] {
		n += c
	}
	return n
}
