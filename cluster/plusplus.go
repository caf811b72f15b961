package cluster

import (
	"math"
	"math/rand/v2"
	"slices"
)

// draw returns start centroids: the means of the known groups, then rows as
// o.Init says. The first row of k-means++ is drawn in proportion to the weights
// of the rows, each further one to weight times squared distance from the nearest
// centroid so far. Of several candidates the one is taken that leaves the least
// sum of these products (of equal ones the first drawn). Rows of known groups are
// not drawn, nor rows that are chosen already; when no other is left, the last row
// is repeated.
func (p *problem) draw(o KMeans, gram []float32, random *rand.Rand) []float64 {
	centroids := p.groupMeans(o.K)
	if o.Init == Random {
		return p.drawUniformly(centroids, o.K, random)
	}
	n, d := p.y.Rows, p.y.Cols
	tries := 1
	if o.Init == GreedyPlusPlus {
		tries = 2 + int(math.Log(float64(o.K)))
	}
	s := &seeding{problem: p, cpu: CPU{BLAS: o.BLAS}, gram: gram, picks: NewMatrix((tries+7)/8*8, d),
		nearest: make([]float32, n), trial: make([]float32, tries*n), mass: make([]float64, n)}
	s.sums = make([]float64, (n+tileRows-1)/tileRows*tries)
	for i := range s.mass {
		s.nearest[i] = float32(math.Inf(1))
		if !p.known.fixed(i) {
			s.mass[i] = p.weight(i)
		}
	}
	s.after(centroids)
	for len(centroids) < o.K*d {
		rows := s.candidates(random, tries, len(centroids) == 0)
		best := s.best(rows)
		for _, v := range p.y.Row(rows[best]) {
			centroids = append(centroids, float64(v))
		}
		copy(s.nearest, s.trial[best*n:(best+1)*n])
	}
	return centroids
}

// groupMeans returns the means of the known groups, with room for k centroids.
func (p *problem) groupMeans(k int) []float64 {
	d := p.y.Cols
	means := make([]float64, p.known.groups()*d, k*d)
	masses := make([]float64, p.known.groups())
	for i := range p.y.Rows {
		if !p.known.fixed(i) {
			continue
		}
		g, w := int(p.known.Of[i]), p.weight(i)
		masses[g] += w
		for j, v := range p.y.Row(i) {
			means[g*d+j] += w * float64(v)
		}
	}
	for g := range masses {
		mean(means[g*d:(g+1)*d], masses[g], p.norms != nil)
	}
	return means
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
	for len(centroids) < k*d { // fewer rows are free than clusters open
		for _, v := range p.y.Row(p.y.Rows - 1) {
			centroids = append(centroids, float64(v))
		}
	}
	return centroids
}

// mostGram is how many bytes the products of all rows may take.
const mostGram = 512 << 20

// gram returns the products of all rows with all, [N,N], where the starts will
// use more rows of it than there are and it is small enough; else nil.
func (o KMeans) gram(p *problem) []float32 {
	n := p.y.Rows
	drawn := max(o.NInit, 1) * o.K * (2 + int(math.Log(float64(o.K))))
	if o.Init != GreedyPlusPlus || o.Start.Rows > 0 || drawn < 2*n || 4*n*n > mostGram {
		return nil
	}
	g, cpu := make([]float32, n*n), CPU{BLAS: o.BLAS}
	tiles := (n + pairRows - 1) / pairRows
	parallel(tiles, func(piece int) {
		lo := (tiles - 1 - piece) * pairRows // the longest rows first
		hi := min(lo+pairRows, n)
		buf := make([]float32, pairRows*pairCols)
		for from := 0; from < hi; from += pairCols {
			to := min(from+pairCols, hi)
			cpu.products(buf, p.y, lo, hi, p.y, from, to)
			for i := lo; i < hi; i++ {
				copy(g[i*n+from:], buf[(i-lo)*(to-from):][:max(0, min(to, i+1)-from)])
			}
		}
	})
	parallel(tiles, func(tile int) { // the upper half, by what only this tile writes
		for i := tile * pairRows; i < min((tile+1)*pairRows, n); i++ {
			for j := i + 1; j < n; j++ {
				g[i*n+j] = g[j*n+i]
			}
		}
	})
	return g
}

// seeding holds what one step of k-means++ works with.
type seeding struct {
	*problem
	cpu     CPU
	gram    []float32 // products of the rows [N,N]; may be nil
	picks   Matrix    // candidate rows; their number is a multiple of 8, for which products are fastest
	nearest []float32 // squared distance of each row to the nearest centroid [N]
	trial   []float32 // the same if a candidate were added [tries, N]
	mass    []float64 // weight of each row, 0 where it is not to be drawn
	sums    []float64 // mass·trial over each tile [tiles, tries]
}

// after takes centroids that are there before any row is drawn.
func (s *seeding) after(centroids []float64) {
	d := s.y.Cols
	parallel((s.y.Rows+tileRows-1)/tileRows, func(tile int) {
		for i := tile * tileRows; i < min((tile+1)*tileRows, s.y.Rows); i++ {
			for at := 0; at < len(centroids); at += d {
				s.nearest[i] = min(s.nearest[i], float32(distance2(s.y.Row(i), centroids[at:at+d])))
			}
		}
	})
}

// candidates draws rows for the next centroid.
func (s *seeding) candidates(random *rand.Rand, tries int, first bool) []int {
	n := s.y.Rows
	cumulative, sum := make([]float64, n), 0.0
	for i, v := range s.nearest {
		if first {
			v = 1
		}
		if s.mass[i] > 0 {
			sum += s.mass[i] * float64(v)
		}
		cumulative[i] = sum
	}
	if first {
		tries = 1
	}
	rows := make([]int, tries)
	for t := range rows {
		at := random.Float64() * sum
		i, _ := slices.BinarySearchFunc(cumulative, at, func(c, at float64) int {
			if c <= at {
				return -1
			}
			return 1
		})
		rows[t] = min(i, n-1)
	}
	return rows
}

// best fills trial for the candidate rows and returns the candidate with the
// least sum.
func (s *seeding) best(rows []int) int {
	n, m := s.y.Rows, len(rows)
	for j, row := range rows {
		copy(s.picks.Row(j), s.y.Row(row))
	}
	tiles := (n + tileRows - 1) / tileRows
	parallel(tiles, func(tile int) {
		lo := tile * tileRows
		hi := min(lo+tileRows, n)
		width := s.picks.Rows
		var buf []float32
		if s.gram == nil {
			buf = make([]float32, tileRows*width)
			s.cpu.products(buf, s.y, lo, hi, s.picks, 0, width)
		}
		for j, row := range rows {
			dots, step := buf[min(j, len(buf)):], width
			if s.gram != nil {
				dots, step = s.gram[row*n+lo:row*n+hi], 1
			}
			s.sums[tile*m+j] = s.score(s.trial[j*n+lo:j*n+hi], dots, step, row, lo)
		}
	})
	best, least := 0, math.Inf(1)
	for j := range m {
		total := 0.0
		for tile := range tiles {
			total += s.sums[tile*m+j]
		}
		if total < least {
			best, least = j, total
		}
	}
	return best
}

// score fills dst with the squared distances of rows lo … to the nearest centroid
// if row pick were one, from their products with it, and returns their sum.
func (s *seeding) score(dst, dots []float32, step, pick, lo int) (total float64) {
	own, yy, nearest, mass := s.yy[pick], s.yy[lo:][:len(dst)], s.nearest[lo:][:len(dst)], s.mass[lo:][:len(dst)]
	for i := range dst {
		d := float32(yy[i] + own - 2*float64(dots[i*step]))
		d = min(max(d, 0), nearest[i])
		dst[i] = d
		total += mass[i] * float64(d)
	}
	if at := pick - lo; at >= 0 && at < len(dst) {
		total -= mass[at] * float64(dst[at])
		dst[at] = 0
	}
	return total
}
