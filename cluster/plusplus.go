package cluster

import (
	"math"
	"math/rand/v2"
	"slices"
)

// plusPlus draws k rows as start centroids: the first uniformly, each further
// one with a probability in proportion to its squared distance from the nearest
// centroid so far. It is greedy: of 2 + ⌊ln k⌋ such draws it takes the one that
// leaves the least sum of squared distances (of equal ones the first drawn).
// Rows that are chosen already have no weight; when no other row is left, the
// last row is repeated.
func (p *problem) plusPlus(cpu CPU, k int, random *rand.Rand) []float64 {
	n, d := p.y.Rows, p.y.Cols
	tries := 2 + int(math.Log(float64(k)))
	s := &seeding{problem: p, cpu: cpu, picks: NewMatrix((tries+7)/8*8, d), pick2: make([]float64, tries),
		nearest: make([]float64, n), trial: make([]float64, tries*n)}
	s.sums = make([]float64, (n+tileRows-1)/tileRows*tries)
	for i := range s.nearest {
		s.nearest[i] = math.Inf(1)
	}
	centroids := make([]float64, 0, k*d)
	rows := []int{random.IntN(n)}
	cumulative := make([]float64, n)
	for {
		best := s.best(rows)
		for _, v := range p.y.Row(rows[best]) {
			centroids = append(centroids, float64(v))
		}
		if len(centroids) == k*d {
			return centroids
		}
		copy(s.nearest, s.trial[best*n:(best+1)*n])
		sum := 0.0
		for i, v := range s.nearest {
			sum += v
			cumulative[i] = sum
		}
		rows = rows[:0]
		for range tries {
			at := random.Float64() * sum
			i, _ := slices.BinarySearchFunc(cumulative, at, func(c, at float64) int {
				if c <= at {
					return -1
				}
				return 1
			})
			rows = append(rows, min(i, n-1))
		}
	}
}

// seeding holds what one step of k-means++ works with.
type seeding struct {
	*problem
	cpu     CPU
	picks   Matrix    // candidate rows; their number is a multiple of 8, for which products are fastest
	pick2   []float64 // their squared lengths
	nearest []float64 // squared distance of each row to the nearest centroid [N]
	trial   []float64 // the same if a candidate were added [tries, N]
	sums    []float64 // sum of trial over each tile [tiles, tries]
}

// best fills trial for the candidate rows and returns the candidate with the
// least sum.
func (s *seeding) best(rows []int) int {
	n, m := s.y.Rows, len(rows)
	for j, row := range rows {
		copy(s.picks.Row(j), s.y.Row(row))
		s.pick2[j] = s.yy[row]
	}
	tiles := (n + tileRows - 1) / tileRows
	parallel(tiles, func(tile int) {
		lo := tile * tileRows
		hi := min(lo+tileRows, n)
		width := s.picks.Rows
		buf := make([]float32, tileRows*width)
		s.cpu.products(buf, s.y, lo, hi, s.picks, 0, width)
		for j := range m {
			total := 0.0
			for i := lo; i < hi; i++ {
				d := max(0, s.yy[i]+s.pick2[j]-2*float64(buf[(i-lo)*width+j]))
				if i == rows[j] {
					d = 0
				}
				d = min(d, s.nearest[i])
				s.trial[j*n+i] = d
				total += d
			}
			s.sums[tile*m+j] = total
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
