package metric

import (
	"slices"
)

// View is a part of a ranking with the levels reduced to positive and negative.
type View struct {
	N int // ranked items of the whole ranking
	R int // positives of the whole ranking

	first, end int // places of the part, from 0
	before     int // positives ranked before the part

	// If single is set, every positive is a group of one and places holds the number of items
	// ranked before each. Otherwise runs holds the groups with positives. Both are ordered by
	// position.
	single bool
	places []int32
	runs   []run

	kept []int32 // memory for places
}

// run is a group of items with equal scores that holds a positive.
type run struct {
	first  int // items ranked before the run
	size   int // items in it
	hits   int // positives in it
	before int // positives ranked before it
}

// level returns the view of the part at level h. It is valid until the next call.
func (p *Part) level(h int) *View {
	least := p.Levels - h
	v := &p.view
	v.N, v.R = p.N, p.Positives(least)
	v.first, v.end, v.before = p.first, p.end, p.beforeAt(least, p.Levels)
	v.single, v.places, v.runs = p.single, nil, v.runs[:0]
	switch {
	case !p.single:
		before := v.before
		for _, g := range p.groups {
			if hits := p.hits(g, least, p.Levels); hits > 0 {
				v.runs = append(v.runs, run{int(g.first), int(g.size), hits, before})
				before += hits
			}
		}
	case least == 1:
		v.places = p.places
	default:
		v.places = v.above(p, uint8(least))
	}
	return v
}

// above returns the places of the positives that share at least the given number of levels. They
// may be half of all, in an order that a processor cannot predict, so the loop has no branch.
func (v *View) above(p *Part, least uint8) []int32 {
	v.kept = slices.Grow(v.kept[:0], len(p.places)+1)[:len(p.places)+1]
	n := 0
	for i, place := range p.places {
		v.kept[n] = place
		positive := 0
		if p.shared[i] >= least {
			positive = 1
		}
		n += positive
	}
	v.kept[n] = nowhere
	return v.kept[:n]
}

// groups returns the number of groups that hold positives.
func (v *View) groups() int {
	if v.single {
		return len(v.places)
	}
	return len(v.runs)
}

// group returns the i-th group that holds positives.
func (v *View) group(i int) run {
	if v.single {
		return run{first: int(v.places[i]), size: 1, hits: 1, before: v.before + i}
	}
	return v.runs[i]
}

// within returns the expected number of the part's positives among the first k of the ranking.
func (v *View) within(k int) float64 {
	if v.first >= k {
		return 0
	}
	if v.single {
		if v.end <= k {
			return float64(len(v.places))
		}
		n, _ := slices.BinarySearch(v.places, int32(k))
		return float64(n)
	}
	sum := 0.0
	for _, r := range v.runs {
		if r.first >= k {
			break
		}
		sum += float64(r.hits*min(r.size, k-r.first)) / float64(r.size) // exact if all are positives
	}
	return sum
}

// precisions adds Σ r_i·P@i over the places i ≤ k of the part to sum. In a run of t items with p
// positives, place s is positive with probability p/t. On average over the orders,
// (s−1)(p−1)/(t−1) of the s−1 items before it are then also positive.
func (v *View) precisions(sum float64, k int) float64 {
	if !v.single {
		return precisions(sum, v.runs, k)
	}
	if v.first >= k {
		return sum
	}
	places, hits := v.places, v.before
	if v.end > k {
		n, _ := slices.BinarySearch(places, int32(k))
		places = places[:n]
	}
	for _, place := range places {
		hits++
		sum += float64(hits) / float64(place+1)
	}
	return sum
}

func precisions(sum float64, runs []run, k int) float64 {
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
