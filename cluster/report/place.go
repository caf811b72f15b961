package report

import (
	"context"

	"hgld/cluster"
	"hgld/internal/registry"
)

// Place finds the positions [N,2] of the rows of x. o has the settings of t-SNE.
type Place func(ctx context.Context, x cluster.Matrix, o cluster.TSNE) (cluster.Matrix, error)

// Methods are the ways to lay out the map.
var Methods = registry.Table[Place]{
	{Name: "t-sne", About: "t-SNE keeps neighbours together, but distances between groups mean little",
		Value: func(ctx context.Context, x cluster.Matrix, o cluster.TSNE) (cluster.Matrix, error) {
			return o.Run(ctx, x)
		}},
	{Name: "pca", About: "the two principal components keep directions, but tags that differ only in other directions " +
		"overlap",
		Value: pca},
}

func pca(_ context.Context, x cluster.Matrix, _ cluster.TSNE) (cluster.Matrix, error) {
	p, err := cluster.FitPCA(x, 2)
	if err != nil {
		return cluster.Matrix{}, err
	}
	return p.Project(x, false), nil
}
