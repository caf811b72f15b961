package report

import (
	"context"

	"hgld/cluster"
	"hgld/internal/blas"
	"hgld/internal/registry"
)

// Place finds the positions [N,2] of the rows of x.
type Place func(ctx context.Context, x cluster.Matrix, o PlaceOptions) (cluster.Matrix, error)

// PlaceOptions are the settings of a Place. PCA has none.
type PlaceOptions struct {
	// Seed is that of t-SNE.
	Seed uint64
	// Perplexity is that of t-SNE; 0 means its default.
	Perplexity float64
	// Iterations is the number of iterations of t-SNE; 0 means its default.
	Iterations int
	// BLAS computes matrix products; nil means gonum.
	BLAS blas.Library
	// Watch is called after each iteration; it may be nil.
	Watch func(iteration int)
}

// Methods are the ways to lay out the map.
var Methods = registry.Table[Place]{
	{Name: "t-sne", About: "t-SNE keeps neighbours together, but distances between groups mean little", Value: tsne},
	{Name: "pca", About: "the two principal components keep directions, but tags that differ only in other directions " +
		"overlap",
		Value: pca},
}

func tsne(ctx context.Context, x cluster.Matrix, o PlaceOptions) (cluster.Matrix, error) {
	p, err := cluster.TSNE{Seed: o.Seed, Perplexity: o.Perplexity, MaxIter: o.Iterations, BLAS: o.BLAS,
		Watch: o.Watch}.Run(ctx, x)
	if err != nil {
		return cluster.Matrix{}, err
	}
	return p.Y, nil
}

func pca(_ context.Context, x cluster.Matrix, _ PlaceOptions) (cluster.Matrix, error) {
	p, err := cluster.FitPCA(x, 2)
	if err != nil {
		return cluster.Matrix{}, err
	}
	return p.Project(x, false), nil
}
