package cluster

import (
	"cmp"
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
	size, d := min(cmp.Or(o.Batch, defaultBatch), p.y.Rows), p.y.Cols
	rows := make([]int, size)
	w := newDescent(p.sample(rows), o, centroids)
	seen := make([]float64, o.K)
	for range (epochs*p.y.Rows + size - 1) / size {
		if err := ctx.Err(); err != nil {
			return err
		}
		for at := range rows {
			rows[at] = random.IntN(p.y.Rows)
		}
		w.problem = p.sample(rows)
		w.assign()
		clear(w.sums)
		scatterWeighted(w.sums, w.y, w.labels, w.weights)
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
