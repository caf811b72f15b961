package metric

import (
	"fmt"
	"math"
)

// ASI is average set intersection (Sun et al., "Dynamic Metric Learning", CVPR 2021):
// the agreement of the first n items with the first n of the ideal order (levels
// falling), as sets of levels,
//
//	ASI = 1/N⁺ Σ_{n≤N⁺} 1/n Σ_l min(#l in the first n, #l in the ideal first n)
//
// with N⁺ the items that share a level. At one level it is the mean of P@n over
// n ≤ R. Undefined where there is no positive.
type ASI struct{}

// Name returns "ASI".
func (ASI) Name() string { return "ASI" }

// AtLevel sums hits(n)/n; the first n hold at most n positives, so no minimum is
// needed.
func (ASI) AtLevel(v *View) (float64, bool) {
	if v.R == 0 {
		return 0, false
	}
	sum := 0.0
	if v.single {
		hits := 0 // fewer than n, so that there is one more
		for n := 1; n <= v.R; n++ {
			more := 0
			if int(v.places[hits]) < n {
				more = 1
			}
			hits += more
			sum += float64(hits) / float64(n)
		}
		return sum / float64(v.R), true
	}
	hits, next := 0.0, 0
	for n := 1; n <= v.R; n++ {
		for next < len(v.runs) && v.runs[next].first+v.runs[next].size < n {
			next++
		}
		if next < len(v.runs) && v.runs[next].first < n {
			r := v.runs[next]
			hits = float64(r.before) + float64(r.hits)*float64(n-r.first)/float64(r.size)
		}
		sum += hits / float64(n)
	}
	return sum / float64(v.R), true
}

// OfList compares level by level. Inside a group of equal scores a level's number
// among the first n is hypergeometric.
func (ASI) OfList(l *List) (float64, bool) {
	positives := l.Positives(1)
	if positives == 0 {
		return 0, false
	}
	if l.ties == ScoreThenRow {
		return l.agreements() / float64(positives), true
	}
	before := make([]int, l.Levels+1) // items of each level in the groups left behind
	next, sum := 0, 0.0
	for n := 1; n <= positives; n++ {
		for next < len(l.groups) && int(l.groups[next].first+l.groups[next].size) <= n {
			for level := 1; level <= l.Levels; level++ {
				before[level] += l.hits(l.groups[next], level, level)
			}
			next++
		}
		g := group{first: int32(n)} // the group that the first n end in, if they do
		if next < len(l.groups) && int(l.groups[next].first) < n {
			g = l.groups[next]
		}
		sum += l.agreement(n, before, g) / float64(n)
	}
	return sum / float64(positives), true
}

// agreements is Σ_{n≤positives} 1/n Σ_l min(#l in the first n, #l in the ideal first n) where
// every positive is a group of one. While the ideal order is within a level, it has all items of
// the finer ones, so that these agree as far as they are among the first n, and none of the
// coarser ones. There are no branches, which nobody could foresee.
func (l *List) agreements() float64 {
	n, next, sum := 0, 0, 0.0
	for level := l.Levels; level > 0; level-- {
		finer, same := 0, 0 // among the first n
		for _, g := range l.groups[:next] {
			if int(g.level) > level {
				finer++
			} else if int(g.level) == level {
				same++
			}
		}
		for ideal := 1; ideal <= l.Count[level]; ideal++ {
			n++
			g := l.groups[next] // fewer than n are behind, so that there is one more
			step, finerStep, sameStep := 0, 0, 0
			if int(g.first) < n {
				step = 1
			}
			if int(g.level) > level {
				finerStep = step
			}
			if int(g.level) == level {
				sameStep = step
			}
			next, finer, same = next+step, finer+finerStep, same+sameStep
			sum += float64(finer+min(same, ideal)) / float64(n)
		}
	}
	return sum
}

// agreement is Σ_l E min(#l in the first n, #l in the ideal first n), the first n
// being what lies before group g and a random draw from g.
func (l *List) agreement(n int, before []int, g group) float64 {
	sum, left, drawn := 0.0, n, n-int(g.first)
	for level := l.Levels; level > 0 && left > 0; level-- {
		ideal := min(left, l.Count[level])
		left -= ideal
		if drawn == 0 {
			sum += float64(min(before[level], ideal))
		} else {
			sum += expectedMin(before[level], int(l.of(g)[level-1]), int(g.size), drawn, ideal)
		}
	}
	return sum
}

// expectedMin is E min(c + X, limit), X being the number of marked items among
// drawn of size items of which p are marked.
func expectedMin(c, p, size, drawn, limit int) float64 {
	low, high := max(0, drawn-(size-p)), min(p, drawn) // range of X
	switch {
	case c+high <= limit:
		return float64(c) + float64(drawn)*float64(p)/float64(size)
	case c+low >= limit:
		return float64(limit)
	}
	mode := min(max((drawn+1)*(p+1)/(size+2), low), high)
	// Weights relative to the mode, outwards until they no longer count.
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

// negligible is below the rounding of a sum of weights of which one is 1.
var negligible = math.Ldexp(1, -70)

func newASI(rest string) (Metric, error) {
	if rest != "" {
		return nil, fmt.Errorf("ASI takes no %.80q", rest)
	}
	return ASI{}, nil
}
