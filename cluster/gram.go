package cluster

import (
	"math"

	"hgld/internal/blas"
)

// The pieces that products of all pairs of rows are computed in.
const (
	pairRows = 192
	pairCols = 512
)

// lowerPairs calls f with the products of row i of y and rows from … j of y, j ≤ i, for
// all pairs with j < i or, at the end of a run, j = i. Different rows i may be on
// different cores.
func lowerPairs(y Matrix, lib blas.Library, f func(i, from int, dots []float32)) {
	n, right := y.Rows, newFactor(lib, y, nil)
	tiles := (n + pairRows - 1) / pairRows
	parallel(tiles, func(piece int) {
		lo := (tiles - 1 - piece) * pairRows // the longest rows first
		hi := min(lo+pairRows, n)
		buf := make([]float32, pairRows*pairCols)
		for from := 0; from < hi; from += pairCols {
			to := min(from+pairCols, hi)
			right.products(buf, to-from, y.Data[lo*y.Cols:hi*y.Cols], hi-lo, from, to)
			for i := max(lo, from); i < hi; i++ {
				f(i, from, buf[(i-lo)*(to-from):][:min(to, i+1)-from])
			}
		}
	})
}

// mostGram is the largest number of bytes that the products of all rows may take.
const mostGram = 512 << 20

// gram returns the products of all pairs of rows, [N,N], if the starts use more of its
// rows than there are and it is small enough; otherwise nil.
func (o KMeans) gram(p *problem, starts int) []float32 {
	n := p.y.Rows
	drawn := starts * o.K * (2 + int(math.Log(float64(o.K))))
	if o.Init != GreedyPlusPlus || o.Start.Rows > 0 || drawn < 2*n || n > seedRows*o.K || 4*n*n > mostGram {
		return nil
	}
	g := make([]float32, n*n)
	lowerPairs(p.y, o.BLAS, func(i, from int, dots []float32) { copy(g[i*n+from:], dots) })
	parallel((n+pairRows-1)/pairRows, func(tile int) { // the upper half, by what only this tile writes
		lo, hi := tile*pairRows, min((tile+1)*pairRows, n)
		for from := lo; from < n; from += side { // a block at a time, so that both halves stay in the cache
			for i := lo; i < hi; i++ {
				for j := max(from, i+1); j < min(from+side, n); j++ {
					g[i*n+j] = g[j*n+i]
				}
			}
		}
	})
	return g
}
