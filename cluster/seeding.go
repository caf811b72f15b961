package cluster

import (
	"math"
	"math/rand/v2"
	"slices"
)

// seeding draws the rows of k-means++.
//
// A row whose turn comes is drawn with the distances of that moment, but products
// are fastest for many rows at once. So a pool of rows is drawn and multiplied with
// all rows together; distances only shrink, so a row of the pool that is then
// accepted with the probability (distance now) / (distance when it was drawn) is
// distributed as if it were drawn now (von Neumann's rejection).
type seeding struct {
	*problem
	cpu     CPU
	gram    []float32 // products of the rows [N,N]; may be nil
	random  *rand.Rand
	mass    []float64 // weight of each row, 0 where it is not to be drawn
	nearest []float32 // squared distance of each row to the nearest centroid [N]
	bar     []float32 // (‖y‖² − nearest)/2: what y·c must exceed, less ‖c‖²/2, to be nearer [N]

	pool  []int     // rows drawn and not yet used
	drawn []float32 // nearest of each when it was drawn
	dots  []float32 // products of all rows with each [pool, N]; nil with gram
	spare []float32 // those of the pool before, which candidates of the same turn still read
	gains []float64 // of each candidate in each tile [tiles, tries]
	used  int       // rows of the pool that are used up
}

// poolRows is how many rows are drawn together.
const poolRows = 64

func newSeeding(p *problem, cpu CPU, gram []float32, random *rand.Rand) *seeding {
	n := p.y.Rows
	s := &seeding{problem: p, cpu: cpu, gram: gram, random: random,
		mass: make([]float64, n), nearest: make([]float32, n), bar: make([]float32, n)}
	for i := range s.mass {
		s.nearest[i], s.bar[i] = float32(math.Inf(1)), float32(math.Inf(-1))
		if !p.known.fixed(i) {
			s.mass[i] = p.weight(i)
		}
	}
	return s
}

// tiles calls f for pieces of the rows, on all cores.
func (s *seeding) tiles(f func(tile, lo, hi int)) {
	n := s.y.Rows
	parallel((n+tileRows-1)/tileRows, func(tile int) { f(tile, tile*tileRows, min((tile+1)*tileRows, n)) })
}

// after takes centroids that are there before any row is drawn.
func (s *seeding) after(centroids []float64) {
	d := s.y.Cols
	s.tiles(func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			for at := 0; at < len(centroids); at += d {
				s.approach(i, float32(distance2(s.y.Row(i), centroids[at:at+d])))
			}
		}
	})
}

// approach notes a centroid at the squared distance d of row i.
func (s *seeding) approach(i int, d float32) {
	if d < s.nearest[i] {
		s.nearest[i], s.bar[i] = d, float32((s.yy[i]-float64(d))/2)
	}
}

// next draws tries candidates, or one if it is the first centroid, and returns the
// row of the best.
func (s *seeding) next(tries int, first bool) int {
	if first {
		row := s.draw(1, true)[0]
		s.take(row, s.products([]int{row}))
		return row
	}
	rows, dots := make([]int, tries), make([][]float32, tries)
	for t := range rows {
		rows[t], dots[t] = s.candidate()
	}
	if tries > 1 {
		best := s.best(rows, dots)
		rows[0], dots[0] = rows[best], dots[best]
	}
	s.take(rows[0], dots[0])
	return rows[0]
}

// candidate returns a row drawn by the distances of now, and its products.
func (s *seeding) candidate() (row int, dots []float32) {
	for {
		if s.used == len(s.pool) {
			s.pool, s.used = s.draw(poolRows, false), 0
			s.drawn = s.drawn[:0]
			for _, row := range s.pool {
				s.drawn = append(s.drawn, s.nearest[row])
			}
			s.dots, s.spare = s.spare, s.dots
			s.dots = s.products(s.pool)
		}
		at := s.used
		s.used++
		row = s.pool[at]
		if was := s.drawn[at]; was > 0 && s.random.Float64()*float64(was) >= float64(s.nearest[row]) {
			continue
		}
		n := s.y.Rows
		if s.gram != nil {
			return row, s.gram[row*n : (row+1)*n]
		}
		return row, s.dots[at*n : (at+1)*n]
	}
}

// draw draws rows with replacement, by weight if it is the first centroid, else
// by weight times distance. When nothing is left to draw it is the last row.
func (s *seeding) draw(count int, first bool) []int {
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
	rows := make([]int, count)
	for t := range rows {
		at := s.random.Float64() * sum
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

// products returns y_i·y_row for all rows i, one line for each of rows; nil where
// gram has them.
func (s *seeding) products(rows []int) []float32 {
	n, m := s.y.Rows, len(rows)
	if s.gram != nil {
		if m == 1 {
			return s.gram[rows[0]*n : (rows[0]+1)*n]
		}
		return nil
	}
	picks := NewMatrix(m, s.y.Cols)
	for at, row := range rows {
		copy(picks.Row(at), s.y.Row(row))
	}
	if len(s.dots) < m*n {
		s.dots = make([]float32, m*n)
	}
	right, dots := s.cpu.factor(picks, nil), s.dots[:m*n]
	s.tiles(func(_, lo, hi int) {
		var buf [tileRows * poolRows]float32
		right.products(buf[:], s.y.Data[lo*s.y.Cols:hi*s.y.Cols], hi-lo, 0, m)
		for at := range m {
			line := dots[at*n+lo : at*n+hi]
			for i := range line {
				line[i] = buf[i*m+at]
			}
		}
	})
	return dots
}

// best returns the candidate that takes most from Σ mass·nearest:
// nearest − ‖y−c‖² = 2·(y·c − bar − ‖c‖²/2) where that is positive.
func (s *seeding) best(rows []int, dots [][]float32) int {
	m := len(rows)
	if s.gains == nil {
		s.gains = make([]float64, (s.y.Rows+tileRows-1)/tileRows*m)
	}
	s.tiles(func(tile, lo, hi int) {
		bar, mass := s.bar[lo:hi], s.mass[lo:hi]
		for j, row := range rows {
			own, gain := float32(s.yy[row]/2), 0.0
			for i, dot := range dots[j][lo:hi] {
				if more := dot - bar[i] - own; more > 0 {
					gain += mass[i] * float64(more)
				}
			}
			s.gains[tile*m+j] = gain
		}
	})
	best, most := 0, math.Inf(-1)
	for j := range m {
		total := 0.0
		for at := j; at < len(s.gains); at += m {
			total += s.gains[at]
		}
		if total > most {
			best, most = j, total
		}
	}
	return best
}

// take makes a row the next centroid.
func (s *seeding) take(row int, dots []float32) {
	own := s.yy[row]
	s.tiles(func(_, lo, hi int) {
		for i := lo; i < hi; i++ {
			s.approach(i, float32(max(0, s.yy[i]+own-2*float64(dots[i]))))
		}
	})
	s.approach(row, 0)
}
