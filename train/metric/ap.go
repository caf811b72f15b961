package metric

import "fmt"

// AP is average precision, 1/R Σ_i r_i·P@i over all ranked items. Undefined for
// R = 0.
type AP struct{}

// Name returns "AP".
func (AP) Name() string { return "AP" }

// AtLevel sums the precision at the positives.
func (AP) AtLevel(v *View) (float64, bool) {
	return v.precisions(v.N) / float64(max(v.R, 1)), v.R > 0
}

// HardAP is AP#l: average precision of the items that share exactly l levels, with
// those that share more deleted from the list. So it measures a level apart from the
// finer ones. It is undefined without such items.
type HardAP struct{ Shared int }

// Name returns "AP#l".
func (m HardAP) Name() string { return fmt.Sprintf("AP#%d", m.Shared) }

// OfList leaves the finer items out and counts the rest up.
func (m HardAP) OfList(l *List) (float64, bool) {
	if m.Shared > l.Levels || l.Count[m.Shared] == 0 {
		return 0, false
	}
	l.runs = l.runs[:0]
	before, deleted := 0, 0
	for _, g := range l.groups {
		finer := 0
		if m.Shared < l.Levels {
			finer = l.hits(g, m.Shared+1, l.Levels)
		}
		if hits := l.hits(g, m.Shared, m.Shared); hits > 0 {
			l.runs = append(l.runs, run{int(g.first) - deleted, int(g.size) - finer, hits, before})
			before += hits
		}
		deleted += finer
	}
	return precisions(l.runs, l.N) / float64(before), true
}

// precisions is Σ_{i≤k} r_i·P@i. The part up to R, which several metrics have in common, is
// computed once.
func (v *View) precisions(k int) float64 {
	if !v.single {
		return precisions(v.runs, k)
	}
	if k < v.R {
		_, sum := v.walk(0, 0, k)
		return sum
	}
	if !v.begun {
		v.belowR, v.sumR = v.walk(0, 0, v.R)
		v.begun = true
	}
	_, sum := v.walk(v.belowR, v.sumR, k)
	return sum
}

// walk adds the precisions at the places below k to sum, from the i-th place on. It returns the
// first of the other places.
func (v *View) walk(i int, sum float64, k int) (int, float64) {
	for i < len(v.places) && int(v.places[i]) < k {
		sum += float64(i+1) / float64(v.places[i]+1)
		i++
	}
	return i, sum
}

// precisions is Σ_{i≤k} r_i·P@i. In a run of t items with p positives, place s is
// positive with probability p/t, and then (s−1)(p−1)/(t−1) of the s−1 before it
// are too, on average over the orders.
func precisions(runs []run, k int) float64 {
	sum := 0.0
	for _, r := range runs {
		if r.first >= k {
			break
		}
		if r.size == 1 {
			sum += float64(r.before+1) / float64(r.first+1)
			continue
		}
		share := float64(r.hits) / float64(r.size)
		step := float64(r.hits-1) / float64(r.size-1)
		for s := range min(r.size, k-r.first) {
			sum += share * (float64(r.before+1) + float64(s)*step) / float64(r.first+s+1)
		}
	}
	return sum
}

func newAP(rest string) (Metric, error) {
	if rest == "" {
		return AP{}, nil
	}
	shared, err := after("#", rest)
	return HardAP{Shared: shared}, err
}
