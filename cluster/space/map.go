package space

import (
	"cmp"
	"context"
	"math"
	"slices"

	"hgld/cluster"
	"hgld/internal/blas"
	"hgld/labels"
)

// mapIterations is the number of t-SNE iterations for the centroids. A few hundred
// points settle within it, and the curator waits for it only once.
const mapIterations = 500

// mostAnchors is the number of clusters that t-SNE places. Its time grows with the square of their number: 2,000
// would take ten times as long as these.
const mostAnchors = 600

// nearAnchors is the number of anchors between which another cluster is placed.
const nearAnchors = 4

// Map places all tags in the unit square and returns x and y for each, [tags][2]. The
// centroids of the draft's clusters are placed by t-SNE; the exact method would take
// minutes for all tags. Of many clusters, it places the largest, and the others stand between those that they
// resemble. The tags of a cluster then fill a disc around its centroid,
// arranged like sunflower seeds with the nearest tag in the middle. Each tag is pulled
// towards the neighbouring clusters that it resembles.
func (s *Space) Map(ctx context.Context) ([][2]float32, error) {
	means := make([][]float64, len(s.draft.Clusters))
	x := cluster.NewMatrix(len(means), s.cols)
	at := map[int]int{} // position of a cluster by its id
	for k, c := range s.draft.Clusters {
		at[c.ID] = k
		tags := make([]int, len(c.Members))
		for i, m := range c.Members {
			tags[i] = m.Tag
		}
		means[k], _ = s.mean(tags)
		for j, v := range means[k] {
			x.Row(k)[j] = float32(v)
		}
	}
	places, err := placeByAnchors(ctx, x, s.draft.Clusters, mostAnchors)
	if err != nil {
		return nil, err
	}
	unit := seedDistance(places, len(s.draft.Tags))
	out := make([][2]float32, len(s.draft.Tags))
	for k, c := range s.draft.Clusters {
		near := []int{k}
		for _, id := range c.Nearest {
			near = append(near, at[id])
		}
		for rank, m := range c.Members {
			pull := s.placeTag(m.Tag, near, x, places)
			turn, radius := 2.39996*float64(rank), unit*math.Sqrt(float64(rank)+0.5) // the golden angle
			for axis, wave := range [2]float64{math.Cos(turn), math.Sin(turn)} {
				out[m.Tag][axis] = float32(places[k][axis] + mapPull*(pull[axis]-places[k][axis]) + radius*wave)
			}
		}
	}
	fit(out)
	return out, nil
}

// mapPull is the share of the way that a tag is moved from its own cluster towards the
// clusters it resembles.
const mapPull = 0.3

// seedDistance returns the distance between neighbouring seeds at which the discs of
// all tags cover a third of the picture.
func seedDistance(places [][2]float64, tags int) float64 {
	area := 1.0
	for axis := range 2 {
		low, high := math.Inf(1), math.Inf(-1)
		for _, p := range places {
			low, high = min(low, p[axis]), max(high, p[axis])
		}
		area *= high - low
	}
	return math.Sqrt(area / 3 / math.Pi / float64(max(tags, 1)))
}

// placeByAnchors places the centroids x of clusters: the most largest ones, the anchors, by placeClusters, and the
// others between the anchors that they are nearest to.
func placeByAnchors(ctx context.Context, x cluster.Matrix, clusters []labels.Cluster, most int) ([][2]float64, error) {
	if x.Rows <= most {
		return placeClusters(ctx, x)
	}
	order := make([]int, x.Rows)
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(len(clusters[b].Members), len(clusters[a].Members))
	})
	anchors := cluster.NewMatrix(most, x.Cols)
	for i, k := range order[:most] {
		copy(anchors.Row(i), x.Row(k))
	}
	placed, err := placeClusters(ctx, anchors)
	if err != nil {
		return nil, err
	}
	places := make([][2]float64, x.Rows)
	for i, k := range order {
		if i < most {
			places[k] = placed[i]
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		places[k] = between(x.Row(k), anchors, placed)
	}
	return places, nil
}

// between returns the mean of the places of the anchors that are nearest to v, weighted by exp(−d²/2σ²), where σ
// is half the distance to the nearest one.
func between(v []float32, anchors cluster.Matrix, places [][2]float64) [2]float64 {
	type near struct {
		anchor int
		d2     float64
	}
	list := make([]near, 0, nearAnchors+1)
	for a := range anchors.Rows {
		n := near{anchor: a}
		for j, w := range anchors.Row(a) {
			n.d2 += float64(w-v[j]) * float64(w-v[j])
		}
		at, _ := slices.BinarySearchFunc(list, n, func(x, y near) int { return cmp.Compare(x.d2, y.d2) })
		if at < nearAnchors {
			list = slices.Insert(list, at, n)
			list = list[:min(len(list), nearAnchors)]
		}
	}
	total, out := 0.0, [2]float64{}
	for _, n := range list {
		w := math.Exp(-2 * (n.d2 - list[0].d2) / max(list[0].d2, 1e-9))
		total += w
		out[0] += w * places[n.anchor][0]
		out[1] += w * places[n.anchor][1]
	}
	return [2]float64{out[0] / total, out[1] / total}
}

// placeClusters places the rows of x in the plane by t-SNE. Fewer than eight rows are
// too few for it and go on a circle.
func placeClusters(ctx context.Context, x cluster.Matrix) ([][2]float64, error) {
	places := make([][2]float64, x.Rows)
	if x.Rows < 8 {
		for k := range places {
			angle := 2 * math.Pi * float64(k) / float64(x.Rows)
			places[k] = [2]float64{math.Cos(angle), math.Sin(angle)}
		}
		return places, nil
	}
	lib, err := blas.Default()
	if err != nil {
		return nil, err
	}
	picture, err := cluster.TSNE{MaxIter: mapIterations, Seed: 1, BLAS: lib}.Run(ctx, x)
	if err != nil {
		return nil, err
	}
	for k := range places {
		places[k] = [2]float64{float64(picture.Row(k)[0]), float64(picture.Row(k)[1])}
	}
	return places, nil
}

// placeTag returns the weighted mean of the places of the clusters in near. near[0] is
// the tag's own cluster. The weights are exp(−d²/2σ²), where d is the distance from the
// tag to a cluster's centroid and σ is half the distance to the nearest other cluster.
func (s *Space) placeTag(tag int, near []int, x cluster.Matrix, places [][2]float64) [2]float64 {
	d2 := make([]float64, len(near))
	least := math.Inf(1)
	for i, k := range near {
		d2[i] = float64(s.distance2(tag, x.Row(k), math.MaxFloat32))
		if i > 0 {
			least = min(least, d2[i])
		}
	}
	if math.IsInf(least, 1) {
		return places[near[0]]
	}
	total, out := 0.0, [2]float64{}
	for i, k := range near {
		w := math.Exp(-2 * d2[i] / max(least, 1e-9))
		total += w
		out[0] += w * places[k][0]
		out[1] += w * places[k][1]
	}
	return [2]float64{out[0] / total, out[1] / total}
}

// fit scales places into the unit square, with a margin of 0.03.
func fit(places [][2]float32) {
	for axis := range 2 {
		low, high := float32(math.Inf(1)), float32(math.Inf(-1))
		for _, p := range places {
			low, high = min(low, p[axis]), max(high, p[axis])
		}
		for i := range places {
			places[i][axis] = 0.03 + 0.94*(places[i][axis]-low)/max(high-low, 1e-9)
		}
	}
}
