package cluster

import (
	"fmt"

	"hgld/internal/blas"
)

// Smooth replaces every row by the mean of itself and its nearest rows, all of unit
// length, scaled to unit length again. The nearest rows are those of largest cosine
// (ties: the lower row). Rows between two clusters move to the one that most of their
// neighbours belong to, and accidents of wording are averaged away. It is one step of
// diffusion on the graph of neighbours, the filter before k-means in Zhang et al.,
// "Attributed Graph Clustering via Adaptive Graph Convolution" (IJCAI 2019).
//
// A neighbourhood should be smaller than a cluster. Rows without a direction are an
// error; a row whose neighbours cancel it is left as it is. lib computes the matrix
// products; nil means gonum.
func Smooth(x Matrix, nearest int, lib blas.Library) (Matrix, error) {
	if nearest < 1 || nearest >= x.Rows {
		return Matrix{}, fmt.Errorf("cluster: smooth over %d neighbours of %d rows; want 1 to %d", nearest, x.Rows, x.Rows-1)
	}
	x, _, err := normalize(x)
	if err != nil {
		return Matrix{}, fmt.Errorf("cluster: smooth: %w", err)
	}
	rows, err := neighbourRows(x, nearest, lib)
	if err != nil {
		return Matrix{}, fmt.Errorf("cluster: smooth: %w", err)
	}
	y := NewMatrix(x.Rows, x.Cols)
	tiles(x.Rows, func(lo, hi int) {
		sum := make([]float64, x.Cols)
		for i := lo; i < hi; i++ {
			clear(sum)
			for _, near := range append(rows[i], i) {
				for j, v := range x.Row(near) {
					sum[j] += float64(v)
				}
			}
			if !Normalize(sum) {
				copy(y.Row(i), x.Row(i))
				continue
			}
			for j, v := range sum {
				y.Row(i)[j] = float32(v)
			}
		}
	})
	return y, nil
}

// Neighbourhood returns the number of neighbours for smoothing n rows that become k
// clusters: most, but at most half the mean size of a cluster, beyond which Smooth
// would blend clusters.
func Neighbourhood(most, n, k int) int { return min(most, n/(2*k)) }

// Of returns r, a partition of rows made from x, with the centroids of the rows of x
// itself, weighted by weights (nil for 1 each), and of directions if r is spherical.
// The inertia stays that of the rows it was found on.
func (r *Result) Of(x Matrix, weights []float64) (*Result, error) {
	if x.Rows != len(r.Labels) {
		panic("cluster: the partition of other rows")
	}
	p, err := KMeans{Spherical: r.Spherical, Weights: weights}.prepare(x)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	own := *r
	p.finish(&own, make([]float64, len(r.Sizes)*x.Cols))
	own.Inertia = r.Inertia
	return &own, nil
}
