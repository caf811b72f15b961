package metric

import (
	"math"
	"slices"
)

// ASI is average set intersection (Sun et al., "Dynamic Metric Learning", CVPR 2021). It compares
// the first n items with the first n of the ideal order, which is by falling levels, as sets of
// levels:
//
//	ASI = 1/N⁺ Σ_{n≤N⁺} 1/n Σ_l min(#l in the first n, #l in the ideal first n)
//
// N⁺ is the number of items that share a level. At one level, ASI is the mean of P@n over n ≤ R.
// It is undefined without positives.
type ASI struct{}

// Name returns "ASI".
func (ASI) Name() string { return "ASI" }

// AddLevel sums hits(n)/n. The first n hold at most n positives, so no minimum is needed.
func (ASI) AddLevel(sum float64, v *View) float64 {
	last := min(v.end, v.R)
	if v.first >= last {
		return sum
	}
	if v.single {
		places, next := stopped(v.places), 0
		for n := v.first + 1; n <= last; n++ {
			more := 0
			if int(places[next]) < n {
				more = 1
			}
			next += more
			sum += float64(v.before+next) / float64(n)
		}
		return sum
	}
	hits, next := float64(v.before), 0
	for n := v.first + 1; n <= last; n++ {
		for next < len(v.runs) && v.runs[next].first+v.runs[next].size < n {
			next++
		}
		if next < len(v.runs) && v.runs[next].first < n {
			r := v.runs[next]
			hits = float64(r.before) + float64(r.hits)*float64(n-r.first)/float64(r.size)
		}
		sum += hits / float64(n)
	}
	return sum
}

// AtLevel returns the mean.
func (ASI) AtLevel(sum float64, v *View) (float64, bool) { return sum / float64(max(v.R, 1)), v.R > 0 }

// OfList counts the items that share a level.
func (ASI) OfList(l *List) Sum { return asi{l.Positives(1)} }

type asi struct{ positives int }

// AddPart compares level by level. Within a group of equal scores, a level's number among the
// first n is hypergeometric.
func (a asi) AddPart(sum float64, p *Part) float64 {
	last := min(p.end, a.positives)
	if p.first >= last {
		return sum
	}
	if p.single {
		return p.agreements(sum, last)
	}
	before := slices.Clone(p.before) // items of each level in earlier groups
	next := 0
	for n := p.first + 1; n <= last; n++ {
		for next < len(p.groups) && int(p.groups[next].first+p.groups[next].size) <= n {
			p.passGroup(before, p.groups[next])
			next++
		}
		g := group{first: int32(n)} // the group in which the first n end, if any
		if next < len(p.groups) && int(p.groups[next].first) < n {
			g = p.groups[next]
		}
		sum += p.agreement(n, before, g) / float64(n)
	}
	return sum
}

// Value returns the mean.
func (a asi) Value(sum float64) (float64, bool) {
	return sum / float64(max(a.positives, 1)), a.positives > 0
}

// agreements adds 1/n Σ_l min(#l in the first n, #l in the ideal first n) to sum, for the n of
// the part up to last. Every positive must be a group of one. While the ideal order is within a
// level, it contains all items of the finer levels, so their minimum is the number among the
// first n, and it contains none of the coarser ones. The loop has no branches, because a
// processor could not predict them.
func (p *Part) agreements(sum float64, last int) float64 {
	places, n, next, finest := stopped(p.places), p.first, 0, 0
	for level := p.Levels; level > 0 && n < last; level-- { // finest is the ideal number of the finer ones
		finer, same := p.beforeAt(level+1, p.Levels), p.before[level]
		for _, shared := range p.shared[:next] {
			if int(shared) > level {
				finer++
			} else if int(shared) == level {
				same++
			}
		}
		for upto := min(finest+p.Count[level], last); n < upto; {
			n++
			step, finerStep, sameStep := 0, 0, 0
			if int(places[next]) < n {
				step = 1
			}
			shared := 0
			if next < len(p.shared) {
				shared = int(p.shared[next])
			}
			if shared > level {
				finerStep = step
			}
			if shared == level {
				sameStep = step
			}
			next, finer, same = next+step, finer+finerStep, same+sameStep
			sum += float64(finer+min(same, n-finest)) / float64(n)
		}
		finest += p.Count[level]
	}
	return sum
}

// agreement returns Σ_l E min(#l in the first n, #l in the ideal first n). The first n are what
// precedes group g plus a random draw from g.
func (p *Part) agreement(n int, before []int, g group) float64 {
	sum, left, drawn := 0.0, n, n-int(g.first)
	for level := p.Levels; level > 0 && left > 0; level-- {
		ideal := min(left, p.Count[level])
		left -= ideal
		if drawn == 0 {
			sum += float64(min(before[level], ideal))
		} else {
			sum += expectedMin(before[level], int(p.of(g)[level-1]), int(g.size), drawn, ideal)
		}
	}
	return sum
}

// expectedMin returns E min(c + X, limit). X is the number of marked items among drawn of size
// items, p of which are marked.
func expectedMin(c, p, size, drawn, limit int) float64 {
	low, high := max(0, drawn-(size-p)), min(p, drawn) // range of X
	switch {
	case c+high <= limit:
		return float64(c) + float64(drawn)*float64(p)/float64(size)
	case c+low >= limit:
		return float64(limit)
	}
	mode := min(max((drawn+1)*(p+1)/(size+2), low), high)
	// Weights relative to the mode, from the mode outwards until they are negligible.
	weight, total, sum := 1.0, 0.0, 0.0
	for x := mode; x <= high && weight > negligible; x++ {
		total += weight
		sum += weight * float64(min(c+x, limit))
		weight *= float64(p-x) * float64(drawn-x) / (float64(x+1) * float64(size-p-drawn+x+1))
	}
	weight = 1
	for x := mode; x > low; x-- {
		weight *= float64(x) * float64(size-p-drawn+x) / (float64(p-x+1) * float64(drawn-x+1))
		if weight <= negligible {
			break
		}
		total += weight
		sum += weight * float64(min(c+x-1, limit))
	}
	return sum / total
}

// negligible is below the rounding of a sum of weights that includes a 1.
var negligible = math.Ldexp(1, -70)

func (ASI) Define(r []int) float64 {
	sum, R := 0.0, hits(r, len(r))
	for n := 1; n <= int(R); n++ {
		sum += hits(r, n) / float64(n)
	}
	return sum / R
}

func (ASI) DefineAll(shared []int, levels int) float64 {
	ideal := slices.Clone(shared)
	slices.SortFunc(ideal, func(a, b int) int { return b - a })
	sum, positives := 0.0, 0
	for positives < len(ideal) && ideal[positives] > 0 {
		positives++
	}
	for n := 1; n <= positives; n++ {
		for v := 0; v <= levels; v++ {
			got, best := 0, 0
			for i := range n {
				if shared[i] == v {
					got++
				}
				if ideal[i] == v {
					best++
				}
			}
			sum += float64(min(got, best)) / float64(n)
		}
	}
	return sum / float64(positives)
}

func (ASI) reach(l *List) int { return l.Positives(1) }
