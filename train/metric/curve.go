package metric

import "math"

// CurvePoints is the number of recalls at which a Curve is evaluated: 0, 0.01 … 1.
const CurvePoints = 101

// Curve is the mean over queries of the interpolated precision at each recall,
//
//	p(r) = max of j/i over the positives with j/R ≥ r
//
// where the j-th positive is at place i (Manning et al., "Introduction to Information Retrieval",
// 8.4). The positives of a group of equal scores count at its last place. Queries without
// positives add nothing. The sums are integers, so their order and the number of threads do not
// change the result.
type Curve struct {
	Queries int // queries with positives added so far
	sums    [CurvePoints]int64
}

// curveUnit represents 1 in the sums. 2³⁰ leaves room for 2³³ queries and rounds by less than
// 1e-9.
const curveUnit = 1 << 30

// Add adds one query at the level of its view.
func (c *Curve) Add(v *View) {
	if v.R == 0 {
		return
	}
	c.Queries++
	best, at := 0.0, CurvePoints-1
	for i := v.groups() - 1; i >= 0; i-- {
		r := v.group(i)
		best = max(best, float64(r.before+r.hits)/float64(r.first+r.size))
		for ; at >= 0 && at*v.R > r.before*(CurvePoints-1); at-- { // recalls reached only by this run's positives
			c.sums[at] += int64(math.Round(best * curveUnit))
		}
	}
	c.sums[0] += int64(math.Round(best * curveUnit))
}

// AddHierarchical adds one query's curve of hierarchical precision over hierarchical recall,
//
//	p(r) = max of H-P@k over the relevant items k with H-R@k ≥ r
//
// with the relevances of H-AP; see HRecall and HPrecision. Without interpolation, the area below is
// H-AP (Ramzi et al., "Optimization of Rank Losses", Eq. 32). A group of equal scores counts at its
// last place. A query without relevant items adds nothing.
func (c *Curve) AddHierarchical(l *List) {
	points := Hierarchical(l)
	if len(points) == 0 {
		return
	}
	c.Queries++
	best, at := 0.0, CurvePoints-1
	for i := len(points) - 1; i >= 0; i-- {
		before := 0.0
		if i > 0 {
			before = points[i-1].Recall
		}
		best = max(best, points[i].Precision)
		for ; at >= 0 && float64(at) > before*(CurvePoints-1)+1e-9; at-- {
			c.sums[at] += int64(math.Round(best * curveUnit))
		}
	}
	c.sums[0] += int64(math.Round(best * curveUnit))
}

// Point is a point of a query's curve.
type Point struct{ Recall, Precision float64 }

// Hierarchical returns the points of a query's hierarchical precision and recall at each relevant
// item, or at the end of a group of equal scores.
func Hierarchical(l *List) (points []Point) {
	r := relevancesOf(nil, l)
	p := &l.whole
	p.begin(l)
	p.read(l.items, l.N)
	seen, recall := make([]float64, l.Levels), 0.0 // items up to the point, by level
	add := func(end int, levels func(each func(level int))) {
		best := 0.0
		levels(func(level int) {
			if rel := r.rel[level]; rel > 0 {
				best = max(best, overlap(rel, r.rel, seen)/(float64(end)*rel))
			}
		})
		if best > 0 {
			points = append(points, Point{recall / r.total, best})
		}
	}
	for i, place := range p.places {
		level := int(p.shared[i])
		seen[level-1]++
		recall += r.rel[level]
		add(int(place)+1, func(each func(int)) { each(level) })
	}
	for _, g := range p.groups {
		counts := make([]int32, l.Levels)
		if g.size == 1 {
			counts[g.level-1] = 1
		} else {
			copy(counts, p.of(g))
		}
		for a, n := range counts {
			seen[a] += float64(n)
			recall += float64(n) * r.rel[a+1]
		}
		add(int(g.first+g.size), func(each func(int)) {
			for a, n := range counts {
				if n > 0 {
					each(a + 1)
				}
			}
		})
	}
	return points
}

// Join adds the queries of another curve.
func (c *Curve) Join(other *Curve) {
	c.Queries += other.Queries
	for i, s := range other.sums {
		c.sums[i] += s
	}
}

// Precision returns the mean at each recall, NaN without queries.
func (c *Curve) Precision() []float64 {
	p := make([]float64, CurvePoints)
	for i, s := range c.sums {
		p[i] = float64(s) / curveUnit / float64(c.Queries)
	}
	return p
}
