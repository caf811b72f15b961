package metric

import "fmt"

// AP is average precision, 1/R Σ_i r_i·P@i over all ranked items. It is undefined for R = 0.
type AP struct{}

// Name returns "AP".
func (AP) Name() string { return "AP" }

// AddLevel sums the precision at the positives.
func (AP) AddLevel(sum float64, v *View) float64 { return v.precisions(sum, v.N) }

// AtLevel divides by R.
func (AP) AtLevel(sum float64, v *View) (float64, bool) { return sum / float64(max(v.R, 1)), v.R > 0 }

// HardAP is AP#l: average precision of the items that share exactly l levels, after removing
// those that share more. It measures a level separately from the finer ones. It is undefined
// without such items.
type HardAP struct{ Shared int }

// Name returns "AP#l".
func (m HardAP) Name() string { return fmt.Sprintf("AP#%d", m.Shared) }

// OfList counts the items.
func (m HardAP) OfList(l *List) Sum {
	if m.Shared > l.Levels {
		return hardAP{}
	}
	return hardAP{shared: m.Shared, count: l.Count[m.Shared]}
}

type hardAP struct{ shared, count int }

// AddPart skips the finer items and closes the gaps that they leave.
func (m hardAP) AddPart(sum float64, p *Part) float64 {
	if m.count == 0 {
		return sum
	}
	before, deleted := p.before[m.shared], p.beforeAt(m.shared+1, p.Levels)
	for i, level := range p.shared {
		switch {
		case int(level) == m.shared:
			before++
			sum += float64(before) / float64(int(p.places[i])-deleted+1)
		case int(level) > m.shared:
			deleted++
		}
	}
	for _, g := range p.groups {
		finer := 0
		if m.shared < p.Levels {
			finer = p.hits(g, m.shared+1, p.Levels)
		}
		if hits := p.hits(g, m.shared, m.shared); hits > 0 {
			sum = precisions(sum, []run{{int(g.first) - deleted, int(g.size) - finer, hits, before}}, p.N)
			before += hits
		}
		deleted += finer
	}
	return sum
}

// Value divides by the number of items.
func (m hardAP) Value(sum float64) (float64, bool) {
	return sum / float64(max(m.count, 1)), m.count > 0
}

func newAP(rest string) (Metric, error) {
	if rest == "" {
		return AP{}, nil
	}
	shared, err := after("#", rest)
	return HardAP{Shared: shared}, err
}

// Define returns AP = 1/R Σ_k r_k P(k), with the precision P(k) among the first k.
func (AP) Define(r []int) float64 { return precisionsAt(r, len(r)) / hits(r, len(r)) }

// DefineAll returns the AP of the items that share l levels among those that share no more.
func (m HardAP) DefineAll(shared []int, _ int) float64 {
	var r []int
	for _, l := range shared {
		switch {
		case l == m.Shared:
			r = append(r, 1)
		case l < m.Shared:
			r = append(r, 0)
		}
	}
	return AP{}.Define(r) // 0/0 is NaN
}
