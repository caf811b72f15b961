package metric

import "math"

// sums holds the sums of a set of metrics over one ranking.
type sums struct {
	binary []Binary
	graded []Sum
	at     []float64 // in the order of Set.Keys
}

// begin starts the sums of s at zero.
func (t *sums) begin(s Set, l *List) {
	t.binary, t.graded = t.binary[:0], t.graded[:0]
	for _, m := range s {
		if b, ok := m.(Binary); ok {
			t.binary = append(t.binary, b)
		}
		if g, ok := m.(Graded); ok {
			t.graded = append(t.graded, g.OfList(l))
		}
	}
	t.at = t.at[:0]
	for range l.Levels*len(t.binary) + len(t.graded) {
		t.at = append(t.at, 0)
	}
}

// add adds a part to the sums in at: all graded metrics, and the binary ones of levels [lo, hi).
func (t *sums) add(at []float64, p *Part, lo, hi int) {
	for h := lo; h < hi; h++ {
		v, row := p.level(h), at[h*len(t.binary):]
		for i, m := range t.binary {
			row[i] = m.AddLevel(row[i], v)
		}
	}
	row := at[p.Levels*len(t.binary):]
	for i, m := range t.graded {
		row[i] = m.AddPart(row[i], p)
	}
}

// values writes the values of the sums in at, NaN for a metric that is undefined. Both may be the
// same slice.
func (t *sums) values(values, at []float64, l *List) {
	put := func(i int, v float64, ok bool) {
		if values[i] = v; !ok {
			values[i] = math.NaN()
		}
	}
	for h := range l.Levels {
		v := View{N: l.N, R: l.Positives(l.Levels - h)}
		for i, m := range t.binary {
			i += h * len(t.binary)
			value, ok := m.AtLevel(at[i], &v)
			put(i, value, ok)
		}
	}
	for i, m := range t.graded {
		i += l.Levels * len(t.binary)
		value, ok := m.Value(at[i])
		put(i, value, ok)
	}
}

// Measure writes one query's values in the order of Keys, NaN for a metric that is undefined for
// it.
func (s Set) Measure(values []float64, l *List) {
	t := &l.sums
	t.begin(s, l)
	l.walk(func(p *Part) { t.add(t.at, p, 0, l.Levels) })
	t.values(values, t.at, l)
}
