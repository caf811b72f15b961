package metric

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

// List is one query's gallery in ranked order. Metrics read it in one walk over its positives,
// a [Part] at a time. A List is filled by Reset and used again for the next query.
type List struct {
	Levels int   // L
	N      int   // ranked items
	Count  []int // Count[l]: items that share l levels, l = 0…L

	ties  Ties
	items []Item
	bytes []Item // items of Reset
	part  Part   // of a walk
	whole Part   // of Level
	sums  sums
}

// NewList makes a List for data with the given number of levels.
func NewList(levels int, ties Ties) *List {
	return &List{Levels: levels, Count: make([]int, levels+1), ties: ties}
}

// Reset reads the ranked bytes of a query, as Items does.
func (l *List) Reset(shared []byte) {
	n := 0
	l.bytes, n = Items(l.bytes[:0], shared)
	l.ResetItems(l.bytes, n)
}

// ResetItems takes the items of a query, of which n are ranked. They must stay as they are for
// as long as the list has them. See Items.
func (l *List) ResetItems(items []Item, n int) {
	l.items, l.N = items, n
	var odd, even [levelMask + 1]int // two, because an addition waits for the one before in the same place
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

// Level returns the view of the whole list at level h: positive is what shares at least L−h
// levels. It is valid until the next call.
func (l *List) Level(h int) *View {
	p := &l.whole
	p.begin(l)
	p.read(l.items, l.N)
	return p.level(h)
}

// partItems is the number of items of a part: what metrics read of it stays in the L1 cache.
const partItems = 512

// walk visits the parts of the list, which follow one another from the first place to the last.
func (l *List) walk(visit func(p *Part)) {
	p := &l.part
	p.begin(l)
	for rest := l.items; ; {
		n := min(partItems, len(rest))
		for n < len(rest) && rest[n].Shared&Tied != 0 { // equal scores stay together
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
