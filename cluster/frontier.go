package cluster

import (
	"math"
	"math/rand/v2"
	"slices"
)

// frontier is a set of rows with their distances to the nearest centroid so far.
type frontier struct {
	*problem
	mass    []float64 // weight of each row, 0 if it must not be drawn
	nearest []float32 // squared distance of each row to the nearest centroid [N]
	bar     []float32 // (‖y‖² − nearest)/2: what y·c must exceed, less ‖c‖²/2, to be nearer [N]
}

func newFrontier(p *problem) *frontier {
	n := p.y.Rows
	f := &frontier{problem: p, mass: make([]float64, n), nearest: make([]float32, n), bar: make([]float32, n)}
	for i := range f.mass {
		f.nearest[i], f.bar[i] = float32(math.Inf(1)), float32(math.Inf(-1))
		if !p.known.fixed(i) {
			f.mass[i] = p.weight(i)
		}
	}
	return f
}

// after takes account of centroids.
func (f *frontier) after(centroids []float64) {
	d := f.y.Cols
	tiles(f.y.Rows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			for at := 0; at < len(centroids); at += d {
				f.update(i, float32(distance2(f.y.Row(i), centroids[at:at+d])))
			}
		}
	})
}

// update takes account of a centroid at the squared distance d from row i.
func (f *frontier) update(i int, d float32) {
	if d < f.nearest[i] {
		f.nearest[i], f.bar[i] = d, float32((f.yy[i]-float64(d))/2)
	}
}

// approach is note for a centroid with the squared length own, by its product with row
// i.
func (f *frontier) approach(i int, own float64, dot float32) { f.update(i, gap(f.yy[i], own, dot)) }

// gap returns the squared distance of two rows with the squared lengths a and b.
func gap(a, b float64, dot float32) float32 { return float32(max(0, a+b-2*float64(dot))) }

// gain returns half of the amount by which a centroid with the squared length own
// reduces Σ mass·nearest: nearest − ‖y−c‖² = 2·(y·c − bar − ‖c‖²/2) where that is
// positive.
func (f *frontier) gain(own float64, dots []float32) (gain float64) {
	half := float32(own / 2)
	mass, bar := f.mass[:len(dots)], f.bar[:len(dots)]
	for i, dot := range dots {
		if more := dot - bar[i] - half; more > 0 {
			gain += mass[i] * float64(more)
		}
	}
	return gain
}

// own returns the part of a row in its own gain, if it is among the rows of f. These
// are of, or all if of is nil.
func (f *frontier) own(row int, of []int) float64 {
	if of == nil {
		return 0
	}
	at, found := slices.BinarySearch(of, row)
	if !found {
		return 0
	}
	return f.mass[at] * float64(f.nearest[at]) / 2
}

// draw draws rows with replacement: by weight for the first centroid, otherwise by
// weight times squared distance. If nothing is left to draw, it returns the last row.
func (f *frontier) draw(count int, first bool, random *rand.Rand) []candidate {
	n := f.y.Rows
	cumulative, sum := make([]float64, n), 0.0
	for i, v := range f.nearest {
		if first {
			v = 1
		}
		if f.mass[i] > 0 {
			sum += f.mass[i] * float64(v)
		}
		cumulative[i] = sum
	}
	drawn := make([]candidate, count)
	for t := range drawn {
		at := random.Float64() * sum
		i, _ := slices.BinarySearchFunc(cumulative, at, func(c, at float64) int {
			if c <= at {
				return -1
			}
			return 1
		})
		i = min(i, n-1)
		drawn[t] = candidate{i, f.nearest[i], f.nearest[i]}
	}
	return drawn
}
