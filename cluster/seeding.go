package cluster

import (
	"math/rand/v2"
	"slices"

	"hgld/internal/blas"
)

// seeding draws the rows of k-means++.
//
// Products are fastest for many rows at once, but each row should be drawn with the
// distances of that moment. So a pool of rows is drawn together. Distances only shrink,
// so a row of the pool that is accepted with the probability (distance now) / (distance
// when it was drawn) is distributed as if it were drawn now (von Neumann's rejection).
// The distances of all rows are updated when the next pool is drawn; until then only
// those of the pool and the judges are.
//
// Candidates are compared on the judges: all rows, or a sample. In a sample, what a
// candidate gains from itself as a judge is left out, because a candidate that is not a
// judge has no such part.
type seeding struct {
	all     *frontier
	judges  *frontier // may be the frontier of all rows
	of      []int     // rows of the judges, ascending; nil for all
	packed  *factor   // of the judges; nil with gram
	gram    []float32 // products of all rows [N,N]; may be nil, otherwise all rows are judges
	lib     blas.Library
	random  *rand.Rand
	left    int         // centroids that are still to be chosen
	tries   int         // candidates for each
	pool    []candidate // rows drawn
	used    int         // number of rows of the pool that are used
	dots    []float32   // products of each with the judges [pool, judges]
	apart   []float32   // products of the pool with itself [pool, pool]
	pending []int       // chosen rows that the distances of all rows do not include yet
	keep    bool        // whether to fill kept
	kept    [][]float32 // products of all rows with each chosen row
}

// candidate is a row of a pool.
type candidate struct {
	row   int
	drawn float32 // its distance when it was drawn; 0 if nothing else was left
	now   float32 // its distance now
}

const (
	// judgeRows is the number of rows per cluster on which candidates are compared. Over
	// 24 seeds on two sets, the mean inertia is 0.1 and 0.3 % above that with all rows,
	// which is less than the difference between two starts.
	judgeRows = 16

	// pendingRows is the number of centroids by which the distances of all rows are
	// updated together: whole panels of every kernel.
	pendingRows = 32
)

func newSeeding(p *problem, o KMeans, tries int, gram []float32, random *rand.Rand) *seeding {
	s := &seeding{all: newFrontier(p), gram: gram, lib: o.BLAS, random: random, left: o.K - p.known.groups(),
		tries: tries}
	s.judges = s.all
	if gram != nil {
		return s
	}
	if most := judgeRows * o.K; tries > 1 && p.y.Rows > most {
		s.of = drawRows(p.y.Rows, most, random)
		s.judges = newFrontier(p.sample(s.of))
	}
	s.packed = newFactor(s.lib, s.judges.y, nil)
	return s
}

// after takes account of centroids that exist before any row is drawn.
func (s *seeding) after(centroids []float64) {
	s.all.after(centroids)
	if s.judges != s.all {
		s.judges.after(centroids)
	}
}

// next draws candidates, or one row for the first centroid, and returns the best row.
func (s *seeding) next(first bool) int {
	if first {
		s.fill(s.all.draw(1, true, s.random))
		return s.choose(0)
	}
	if len(s.pending) == pendingRows {
		s.refill(nil)
	}
	places := make([]int, 0, s.tries)
	for len(places) < s.tries {
		if s.used == len(s.pool) {
			places = s.refill(places)
		}
		at := s.used
		s.used++
		if c := s.pool[at]; c.drawn == 0 || s.random.Float64()*float64(c.drawn) < float64(c.now) {
			places = append(places, at)
		}
	}
	if s.tries == 1 {
		return s.choose(places[0])
	}
	return s.choose(s.best(places))
}

// refill updates the distances of all rows by the pending centroids. It then draws new
// rows for the pool, keeping those that were not used and the accepted ones at places,
// which come first.
func (s *seeding) refill(places []int) []int {
	s.updateDistances()
	var pool []candidate
	for i, at := range places {
		pool, places[i] = append(pool, s.pool[at]), i
	}
	pool = append(pool, s.pool[s.used:]...)
	chosen := min(pendingRows, s.left)
	room := (chosen + chosen/8 + 1) * s.tries // some will be rejected later
	s.fill(append(pool, s.all.draw(max(room-len(pool), 1), false, s.random)...))
	s.used = len(places)
	return places
}

// fill makes candidates the pool.
func (s *seeding) fill(pool []candidate) {
	s.pool, s.used = pool, len(pool)
	if s.gram != nil {
		return
	}
	n, m := len(pool), s.judges.y.Rows
	rows := NewMatrix(n, s.all.y.Cols)
	for i, c := range pool {
		copy(rows.Row(i), s.all.y.Row(c.row))
	}
	if len(s.dots) < n*m {
		s.dots, s.apart = make([]float32, n*m), make([]float32, n*n)
	}
	const piece = 128 // a multiple of every panel's width
	parallel((m+piece-1)/piece, func(i int) {
		from := i * piece
		s.packed.products(s.dots[from:], m, rows.Data, n, from, min(from+piece, m))
	})
	newFactor(s.lib, rows, nil).products(s.apart, n, rows.Data, n, 0, n)
}

// line returns the products of the judges with the candidate at a place.
func (s *seeding) line(at int) []float32 {
	m := s.judges.y.Rows
	if s.gram != nil {
		row := s.pool[at].row
		return s.gram[row*m : (row+1)*m]
	}
	return s.dots[at*m : (at+1)*m]
}

// best returns the candidate that most reduces Σ mass·nearest of the judges.
func (s *seeding) best(places []int) int {
	gains := make([]float64, len(places))
	parallel(len(places), func(i int) {
		row := s.pool[places[i]].row
		gains[i] = s.judges.gain(s.all.yy[row], s.line(places[i])) - s.judges.own(row, s.of)
	})
	best := 0
	for i, gain := range gains {
		if gain > gains[best] {
			best = i
		}
	}
	return places[best]
}

// choose makes the candidate at a place of the pool the next centroid.
func (s *seeding) choose(at int) int {
	row, line := s.pool[at].row, s.line(at)
	length := s.all.yy[row]
	for i, dot := range line {
		s.judges.approach(i, length, dot)
	}
	for i := range s.pool {
		c := &s.pool[i]
		switch {
		case c.row == row:
			c.now = 0
		case s.gram != nil:
			c.now = s.all.nearest[c.row]
		default:
			c.now = min(c.now, gap(s.all.yy[c.row], length, s.apart[at*len(s.pool)+i]))
		}
	}
	switch {
	case s.keep && s.gram != nil:
		s.kept = append(s.kept, line)
	case s.keep && s.judges == s.all:
		s.kept = append(s.kept, slices.Clone(line))
	}
	s.pending = append(s.pending, row)
	s.left--
	return row
}

// updateDistances updates the distances of all rows by the chosen centroids.
func (s *seeding) updateDistances() {
	m, d := len(s.pending), s.all.y.Cols
	if s.judges != s.all {
		rows := NewMatrix(m, d)
		for at, row := range s.pending {
			copy(rows.Row(at), s.all.y.Row(row))
		}
		right := newFactor(s.lib, rows, nil)
		var lines [][]float32
		if s.keep {
			for range m {
				lines = append(lines, make([]float32, s.all.y.Rows))
			}
		}
		tiles(s.all.y.Rows, func(lo, hi int) {
			var dots [tileRows * pendingRows]float32
			right.products(dots[:], m, s.all.y.Data[lo*d:hi*d], hi-lo, 0, m)
			for i := lo; i < hi; i++ {
				for at, dot := range dots[(i-lo)*m:][:m] {
					s.all.approach(i, s.all.yy[s.pending[at]], dot)
				}
			}
			for at, line := range lines {
				for i := lo; i < hi; i++ {
					line[i] = dots[(i-lo)*m+at]
				}
			}
		})
		s.kept = append(s.kept, lines...)
	}
	for _, row := range s.pending {
		s.all.update(row, 0)
	}
	s.pending = s.pending[:0]
}
