package cluster

import (
	"context"
	"math/rand/v2"
)

const (
	defaultBatch = 4096

	// epochs is the mean number of times that a run of MiniBatch sees each row.
	epochs = 10
)

// miniBatch moves the centroids by batches of rows drawn with replacement. Each row of
// a batch pulls its nearest centroid, as it was before the batch, to the mean of all
// rows ever assigned to it. Known rows pull the centroid of their group.
func (p *problem) miniBatch(ctx context.Context, o KMeans, centroids []float64, random *rand.Rand) error {
	size, d := o.Batch, p.y.Cols
	if size == 0 {
		size = defaultBatch
	}
	size = min(size, p.y.Rows)
	batch := &problem{x: NewMatrix(size, d), weights: make([]float64, size), norms: p.norms}
	batch.y, batch.yy = batch.x, make([]float64, size)
	if p.known != nil {
		batch.known = &Known{Names: p.known.Names, Of: make([]int32, size)}
	}
	w := newDescent(batch, o, centroids)
	seen := make([]float64, o.K)
	for range (epochs*p.y.Rows + size - 1) / size {
		if err := ctx.Err(); err != nil {
			return err
		}
		for at := range size {
			i := random.IntN(p.y.Rows)
			copy(batch.y.Row(at), p.y.Row(i))
			batch.yy[at], batch.weights[at] = p.yy[i], p.weight(i)
			if p.known != nil {
				batch.known.Of[at] = p.known.Of[i]
			}
		}
		w.assign()
		clear(w.sums)
		scatterWeighted(w.sums, batch.y, w.labels, batch.weights)
		for k, mass := range w.masses {
			if mass == 0 {
				continue
			}
			c, sum := centroids[k*d:(k+1)*d], w.sums[k*d:(k+1)*d]
			for j := range c {
				c[j] = (seen[k]*c[j] + sum[j]) / (seen[k] + mass)
			}
			seen[k] += mass
			if p.norms != nil {
				Normalize(c)
			}
		}
	}
	return nil
}
