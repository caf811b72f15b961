package metric

// Tied is the bit of a ranked byte that is set if the score equals that of the previous item.
const Tied byte = 0x80

const (
	levelMask = 0x7f
	beyond    = 0xff // a place beyond the last item
)

// List is one query's gallery in ranked order. Metrics read it in one walk over its positives,
// one [Part] at a time. Reset fills a List, which is reused for the next query.
type List struct {
	Levels int   // L
	N      int   // ranked items
	Count  []int // Count[l]: items that share l levels, l = 0…L

	ties  Ties
	items []Item
	bytes []Item // items that Reset read
	part  Part   // part of a walk
	whole Part   // the view that Level returns
	sums  sums
}

// NewList returns a List for data with the given number of levels.
func NewList(levels int, ties Ties) *List {
	return &List{Levels: levels, Count: make([]int, levels+1), ties: ties}
}

// Reset reads the ranked bytes of a query, as Items does.
func (l *List) Reset(shared []byte) {
	n := 0
	l.bytes, n = Items(l.bytes[:0], shared)
	l.ResetItems(l.bytes, n)
}

// ResetItems uses the items of a query, n of which are ranked. The caller must not change them
// while the list uses them. See Items.
func (l *List) ResetItems(items []Item, n int) {
	l.items, l.N = items, n
	var odd, even [levelMask + 1]int // two, because an addition waits for the previous one at the same address
	for len(items) >= 2 {
		even[items[0].Shared&levelMask]++
		odd[items[1].Shared&levelMask]++
		items = items[2:]
	}
	for _, item := range items {
		even[item.Shared&levelMask]++
	}
	l.Count[0] = n
	for level := 1; level <= levelMask; level++ {
		have := even[level] + odd[level]
		if level > l.Levels {
			if have > 0 {
				panic("metric: an item shares more levels than there are")
			}
			continue
		}
		l.Count[level] = have
		l.Count[0] -= have
	}
}

// Positives returns Σ_{l≥least} n_l.
func (l *List) Positives(least int) int {
	n := 0
	for _, c := range l.Count[least:] {
		n += c
	}
	return n
}

// Level returns the view of the whole list at level h, where items that share at least L−h levels
// are positive. It is valid until the next call.
func (l *List) Level(h int) *View {
	p := &l.whole
	p.begin(l)
	p.read(l.items, l.N)
	return p.level(h)
}

// partItems is the number of items of a part, chosen so that a part stays in the L1 cache.
const partItems = 512

// walk visits the parts of the list in order.
func (l *List) walk(visit func(p *Part)) {
	p := &l.part
	p.begin(l)
	for rest := l.items; ; {
		n := min(partItems, len(rest))
		for n < len(rest) && rest[n].Shared&Tied != 0 { // equal scores stay in one part
			n++
		}
		end := l.N
		if n < len(rest) {
			end = int(rest[n].Place)
		}
		p.read(rest[:n], end)
		visit(p)
		if rest = rest[n:]; len(rest) == 0 {
			return
		}
		p.pass()
	}
}
