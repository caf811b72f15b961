package cluster

import "context"

// wardMeans returns the means of the known groups, then those of the clusters that the
// tree of the other rows is cut into. If there are fewer such rows than open clusters,
// the last row is repeated.
func (p *problem) wardMeans(ctx context.Context, o KMeans) ([]float64, error) {
	centroids := p.groupMeans(o.K)
	open := o.K - p.known.groups()
	var free []int
	for i := range p.y.Rows {
		if !p.known.fixed(i) {
			free = append(free, i)
		}
	}
	if clusters := min(open, len(free)); clusters > 0 {
		tree, rows := o.Tree, p.y
		if len(free) < p.y.Rows {
			tree, rows = nil, NewMatrix(len(free), p.y.Cols)
			for at, i := range free {
				copy(rows.Row(at), p.y.Row(i))
			}
		}
		if tree == nil {
			var err error
			if tree, err = grow(ctx, rows, Ward, o.BLAS); err != nil {
				return nil, err
			}
		}
		labels, err := tree.Cut(clusters)
		if err != nil {
			return nil, err
		}
		centroids = append(centroids, p.meansOf(free, labels, clusters)...)
	}
	return p.repeatLast(centroids, o.K), nil
}

// meansOf returns the weighted means of the rows; labels[at] is the cluster of row
// rows[at].
func (p *problem) meansOf(rows []int, labels []int32, clusters int) []float64 {
	d := p.y.Cols
	means, masses := make([]float64, clusters*d), make([]float64, clusters)
	for at, i := range rows {
		k, w := int(labels[at]), p.weight(i)
		masses[k] += w
		for j, v := range p.y.Row(i) {
			means[k*d+j] += w * float64(v)
		}
	}
	for k := range masses {
		mean(means[k*d:(k+1)*d], masses[k], p.norms != nil)
	}
	return means
}
