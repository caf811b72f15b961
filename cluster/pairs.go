package cluster

import (
	"math"

	"hgld/internal/blas"
)

// pairs compares every row of x with every other by squared Euclidean distance, or by 1
// − cos.
type pairs struct {
	lib    blas.Library
	x      Matrix
	square []float64 // ‖x‖²
	cosine bool
}

// near is the share of ‖x‖²+‖y‖² (of 1 for cosines) below which a distance is computed
// again from differences in float64. There the product in float32 has lost four of its
// 24 bits to cancellation.
const near = 1. / 16

func newPairs(x Matrix, lib blas.Library, cosine bool) (*pairs, error) {
	p, err := KMeans{}.prepare(x) // shifts rows that are far from the origin
	if err != nil {
		return nil, err
	}
	if !cosine {
		return &pairs{lib, p.y, p.yy, false}, nil
	}
	if _, _, err := normalize(x); err != nil {
		return nil, err
	}
	q := &pairs{lib, x, make([]float64, x.Rows), true}
	for i := range q.square {
		q.square[i] = square(x.Row(i))
	}
	return q, nil
}

// each calls f for every row i with its distances to all rows. f is called on several
// cores and must not keep d.
func (p *pairs) each(f func(i int, d []float64)) {
	n, cols := p.x.Rows, p.x.Cols
	lib := orGonum(p.lib)
	tiles(n, func(lo, hi int) {
		dots, d := make([]float32, tileRows*n), make([]float64, n)
		lib.Sgemm(false, true, hi-lo, n, cols, 1, p.x.Data[lo*cols:hi*cols], cols, p.x.Data, cols, 0, dots, n)
		for i := lo; i < hi; i++ {
			for j, dot := range dots[(i-lo)*n:][:n] {
				d[j] = p.distance(i, j, float64(dot))
			}
			f(i, d)
		}
	})
}

func (p *pairs) distance(i, j int, dot float64) float64 {
	switch {
	case i == j:
		return 0
	case p.cosine:
		d := 1 - dot/math.Sqrt(p.square[i]*p.square[j])
		if d < near {
			d = p.chord(i, j) / 2
		}
		return d
	}
	d := p.square[i] + p.square[j] - 2*dot
	if d < near*(p.square[i]+p.square[j]) {
		d = 0
		y := p.x.Row(j)
		for l, v := range p.x.Row(i) {
			d += (float64(v) - float64(y[l])) * (float64(v) - float64(y[l]))
		}
	}
	return d
}

// chord returns ‖x/‖x‖ − y/‖y‖‖² = 2(1 − cos).
func (p *pairs) chord(i, j int) float64 {
	a, b := math.Sqrt(p.square[i]), math.Sqrt(p.square[j])
	s, y := 0.0, p.x.Row(j)
	for l, v := range p.x.Row(i) {
		d := float64(v)/a - float64(y[l])/b
		s += d * d
	}
	return s
}
