package cluster

import (
	"math"
	"math/rand/v2"
	"slices"
)

// draw returns start centroids: the means of the known groups, then rows drawn as
// o.Init says. The first row of k-means++ is drawn in proportion to the weights of the
// rows, and each further one to weight times squared distance from the nearest centroid
// so far. Of several candidates it takes the one that leaves the smallest sum of these
// products (of equal ones the first drawn). Rows of known groups and rows already
// chosen are not drawn; if no other is left, the last row is repeated.
//
// If there are more than seedRows·K rows, it draws from a random sample of that many.
// Candidates are compared on at most judgeRows·K rows, another sample.
//
// For Elkan's first assignment, the products with centroids that are rows are returned
// too.
func (p *problem) draw(o KMeans, gram []float32, random *rand.Rand) start {
	centroids := p.groupMeans(o.K)
	if o.Init == Random {
		return start{centroids: p.drawUniformly(centroids, o.K, random)}
	}
	keep := o.Algorithm == Elkan && len(centroids) == 0
	if most := seedRows * o.K; p.y.Rows > most {
		p, keep = p.sample(drawRows(p.y.Rows, most, random)), false
	}
	tries := 1
	if o.Init == GreedyPlusPlus {
		tries = 2 + int(math.Log(float64(o.K)))
	}
	s := newSeeding(p, o, tries, gram, random)
	s.keep = keep
	s.after(centroids)
	for len(centroids) < o.K*p.y.Cols {
		row := s.next(len(centroids) == 0)
		for _, v := range p.y.Row(row) {
			centroids = append(centroids, float64(v))
		}
	}
	if keep {
		s.updateDistances()
	}
	return start{centroids, s.kept}
}

// seedRows is the number of rows per cluster that a start is drawn from. It only has to
// find a row of every dense region; Lloyd's rule then uses all rows.
const seedRows = 64

// drawRows draws some of n rows without replacement and returns them in order.
func drawRows(n, rows int, random *rand.Rand) []int {
	chosen := random.Perm(n)[:rows]
	slices.Sort(chosen)
	return chosen
}

// sample returns the problem of some rows.
func (p *problem) sample(chosen []int) *problem {
	rows := len(chosen)
	q := &problem{y: NewMatrix(rows, p.y.Cols), yy: make([]float64, rows), norms: p.norms, weights: make([]float64, rows)}
	if p.known != nil {
		q.known = &Known{Names: p.known.Names, Of: make([]int32, rows)}
	}
	for at, i := range chosen {
		copy(q.y.Row(at), p.y.Row(i))
		q.yy[at], q.weights[at] = p.yy[i], p.weight(i)
		if p.known != nil {
			q.known.Of[at] = p.known.Of[i]
		}
	}
	return q
}

// groupMeans returns the means of the known groups, with room for k centroids.
func (p *problem) groupMeans(k int) []float64 {
	var rows []int
	var of []int32
	for i := range p.y.Rows {
		if p.known.fixed(i) {
			rows, of = append(rows, i), append(of, p.known.Of[i])
		}
	}
	return append(make([]float64, 0, k*p.y.Cols), p.meansOf(rows, of, p.known.groups())...)
}

func (p *problem) drawUniformly(centroids []float64, k int, random *rand.Rand) []float64 {
	d := p.y.Cols
	for _, i := range random.Perm(p.y.Rows) {
		if len(centroids) == k*d {
			break
		}
		if !p.known.fixed(i) {
			for _, v := range p.y.Row(i) {
				centroids = append(centroids, float64(v))
			}
		}
	}
	return p.repeatLast(centroids, k)
}

// repeatLast fills up with the last row where fewer rows are free than clusters
// open.
func (p *problem) repeatLast(centroids []float64, k int) []float64 {
	for len(centroids) < k*p.y.Cols {
		for _, v := range p.y.Row(p.y.Rows - 1) {
			centroids = append(centroids, float64(v))
		}
	}
	return centroids
}
