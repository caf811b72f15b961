package metric

import "math"

// CurvePoints is the number of recalls at which a Curve is known: 0, 0.01 … 1.
const CurvePoints = 101

// Curve is the mean over queries of the interpolated precision at each recall,
//
//	p(r) = max of j/i over the positives with j/R ≥ r
//
// where the j-th positive is at place i (Manning et al., "Introduction to
// Information Retrieval", 8.4). Of a group of equal scores the positives count at
// its last place. A query without positives adds nothing. Sums are whole numbers,
// so that their order, and the number of threads, changes nothing.
type Curve struct {
	Queries int // added so far, those without positives left out
	sums    [CurvePoints]int64
}

// curveUnit is the value of one in the sums: 2³⁰ leaves room for 2³³ queries, and
// rounds by less than 1e-9.
const curveUnit = 1 << 30

// Add takes one query at the level of its view.
func (c *Curve) Add(v *View) {
	if v.R == 0 {
		return
	}
	c.Queries++
	best, at := 0.0, CurvePoints-1
	for i := v.groups() - 1; i >= 0; i-- {
		r := v.group(i)
		best = max(best, float64(r.before+r.hits)/float64(r.first+r.size))
		for ; at >= 0 && at*v.R > r.before*(CurvePoints-1); at-- { // recalls that only this run's positives reach
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

// Precision is the mean at each recall, NaN without queries.
func (c *Curve) Precision() []float64 {
	p := make([]float64, CurvePoints)
	for i, s := range c.sums {
		p[i] = float64(s) / curveUnit / float64(c.Queries)
	}
	return p
}
