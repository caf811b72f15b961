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
