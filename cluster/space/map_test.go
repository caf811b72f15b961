package space

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"hgld/cluster"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// Clusters that t-SNE does not place stand among those that they resemble. Here 90 clusters are of three sorts, far
// from one another, and 30 clusters are anchors.
func TestOtherClustersStandAmongTheirAnchors(t *testing.T) {
	const n, most, sorts = 90, 30, 3
	r := rand.New(rand.NewPCG(1, 2))
	x, clusters := cluster.NewMatrix(n, 16), make([]labels.Cluster, n)
	for k := range n {
		x.Row(k)[k%sorts] = 1
		for j := range x.Row(k) {
			x.Row(k)[j] += 0.02 * float32(r.NormFloat64())
		}
		clusters[k].Members = make([]labels.Member, 1+(n-k)/2) // the first are the largest
	}
	places := must.Get(placeByAnchors(context.Background(), x, clusters, most))(t)
	for k := most; k < n; k++ {
		nearest, least := -1, math.Inf(1)
		for a := range most {
			if d := math.Hypot(places[k][0]-places[a][0], places[k][1]-places[a][1]); d < least {
				nearest, least = a, d
			}
		}
		if nearest%sorts != k%sorts {
			t.Errorf("cluster %d of sort %d stands beside cluster %d of sort %d", k, k%sorts, nearest, nearest%sorts)
		}
	}
}
