package cluster

import (
	"context"
	"fmt"

	"hgld/internal/registry"
)

// Method partitions the rows of x into o.K clusters. It uses the settings of o that
// apply to it.
type Method func(ctx context.Context, o KMeans, x Matrix, seed uint64) (*Result, error)

// Methods are the algorithms by name.
var Methods = registry.Table[Method]{
	{Name: "lloyd", About: "k-means, every row compared with every centroid", Value: byKMeans(Lloyd)},
	{Name: "elkan", About: "k-means, the same with fewer comparisons", Value: byKMeans(Elkan)},
	{Name: "spherical", About: "k-means of directions (cosine)", Value: bySpherical},
	{Name: "mini-batch", About: "k-means by random batches, for large sets", Value: byKMeans(MiniBatch)},
	{Name: "ward", About: "agglomerative: merges the clusters that add the least inertia", Value: byLinkage(Ward)},
	{Name: "average", About: "agglomerative: merges the clusters with the least mean distance", Value: byLinkage(Average)},
	{Name: byTaxonomy, About: "groups of the classes above the tags in Wikidata, from items.jsonl", Value: withoutItems},
}

// Inits are the ways to start by name.
var Inits = registry.Table[Init]{
	{Name: "greedy-k-means++", About: "the best of several candidates per step", Value: GreedyPlusPlus},
	{Name: "k-means++", About: "far rows are likelier", Value: PlusPlus},
	{Name: "random", About: "rows at random", Value: Random},
	{Name: "ward", About: "the means of Ward's clusters, not random", Value: WardMeans},
	{Name: byTaxonomy, About: "the means of the groups of Wikidata's classes", Value: TaxonomyMeans},
}

func byKMeans(a Algorithm) Method {
	return func(ctx context.Context, o KMeans, x Matrix, seed uint64) (*Result, error) {
		o.Algorithm = a
		return o.Run(ctx, x, seed)
	}
}

func bySpherical(ctx context.Context, o KMeans, x Matrix, seed uint64) (*Result, error) {
	o.Spherical = true
	return o.Run(ctx, x, seed)
}

func byLinkage(l Linkage) Method {
	return func(ctx context.Context, o KMeans, x Matrix, _ uint64) (*Result, error) {
		if o.Known != nil || o.Weights != nil || o.Spherical {
			return nil, fmt.Errorf("cluster: %s takes neither known groups nor weights nor directions; use k-means for these", l)
		}
		tree := o.Tree
		if tree == nil || tree.Linkage != l {
			var err error
			if tree, err = Agglomerate(ctx, x, l, o.BLAS); err != nil {
				return nil, err
			}
		}
		return tree.Partition(x, o.K)
	}
}
