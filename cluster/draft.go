package cluster

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"hgld/labels"
)

// neighbours is the number of nearest clusters that a cluster of a draft lists: as many
// as a curator is offered by the keys 1 to 5.
const neighbours = 5

// alternatives is the number of other names that a cluster of a draft lists.
const alternatives = 5

// NewDraft makes the draft of a partition r of tags with the vectors x. It completes
// origin with what r knows.
//
// Clusters are ordered by their number of landmarks, most first, and clusters without
// members are left out. Members are ordered by their Euclidean distance to the
// centroid. A cluster is named after the member nearest to the mean of its vectors
// weighted by landmarks, that is, after a typical and frequent tag; the next nearest
// are its alternatives. If two clusters would have the same name, the later one is
// named after its next nearest member. A known group keeps its name, and a group of a taxonomy has the
// label of its class.
//
// In clusters of four or more, a member is an outlier if its distance is beyond Tukey's
// fence: the third quartile of the distances plus 1.5 times the interquartile range
// (Exploratory Data Analysis, 1977).
func NewDraft(tags []labels.DraftTag, x Matrix, r *Result, origin labels.Origin) (*labels.Draft, error) {
	if len(tags) != x.Rows || len(r.Labels) != x.Rows {
		return nil, fmt.Errorf("cluster: draft of %d tags with %d vectors and %d labels", len(tags), x.Rows, len(r.Labels))
	}
	if r.Spherical {
		var err error
		if x, _, err = normalize(x); err != nil {
			return nil, fmt.Errorf("cluster: %w", err)
		}
	}
	origin.Algorithm = r.Algorithm
	origin.K, origin.NInit = len(r.Sizes), len(r.Restarts)
	origin.Inertia, origin.Iterations = r.Inertia, r.Iterations
	d := &labels.Draft{Version: labels.DraftVersion, Origin: origin, Tags: tags}
	members, order := byLandmarks(tags, r)
	taken, known := map[string]bool{}, map[string]bool{}
	for k := range r.Known.groups() {
		taken[r.Known.Names[k]], known[foldName(r.Known.Names[k])] = true, true
	}
	names := map[int]string{} // of clusters that have a class
	for _, k := range order {
		if r.Classes != nil && r.Classes[k] != nil {
			names[k] = className(r.Classes[k], taken)
		}
	}
	for id, k := range order {
		c := labels.Cluster{
			ID:      id,
			Members: byDistance(x, r.Centroids[k*x.Cols:(k+1)*x.Cols], members[k]),
			Nearest: nearestClusters(r.Centroids, x.Cols, order, id),
			Known:   k < r.Known.groups(),
		}
		for _, i := range members[k] {
			c.Landmarks += tags[i].Landmarks
			c.Images += tags[i].Images
		}
		suited := byFit(tags, x, members[k])
		switch {
		case c.Known:
			c.Name = r.Known.Names[k]
		case names[k] != "":
			c.Name, c.Class = names[k], r.Classes[k].ID
		default:
			c.Name = clusterName(tags, suited, taken, known)
		}
		for _, i := range suited {
			if tags[i].Name != c.Name && len(c.Alternatives) < alternatives {
				c.Alternatives = append(c.Alternatives, i)
			}
		}
		d.Clusters = append(d.Clusters, c)
	}
	if err := d.Check(); err != nil {
		return nil, fmt.Errorf("cluster: draft: %w", err)
	}
	return d, nil
}

// byLandmarks returns the tags of each cluster, and the clusters that have any, those
// with most landmarks first.
func byLandmarks(tags []labels.DraftTag, r *Result) (members [][]int, order []int) {
	members = make([][]int, len(r.Sizes))
	landmarks := make([]int, len(r.Sizes))
	for i, k := range r.Labels {
		members[k] = append(members[k], i)
		landmarks[k] += tags[i].Landmarks
	}
	for k := range members {
		if len(members[k]) > 0 {
			order = append(order, k)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(landmarks[b], landmarks[a]), cmp.Compare(members[a][0], members[b][0]))
	})
	return members, order
}

// byFit orders the members by how well their names suit the cluster.
func byFit(tags []labels.DraftTag, x Matrix, members []int) []int {
	mean := make([]float64, x.Cols)
	weights := 0.0
	for _, i := range members {
		w := float64(max(tags[i].Landmarks, 1))
		weights += w
		for j, v := range x.Row(i) {
			mean[j] += w * float64(v)
		}
	}
	for j := range mean {
		mean[j] /= weights
	}
	byNearness := slices.Clone(members)
	slices.SortFunc(byNearness, func(a, b int) int {
		return cmp.Or(cmp.Compare(distance2(x.Row(a), mean), distance2(x.Row(b), mean)), cmp.Compare(a, b))
	})
	return byNearness
}

// clusterName returns the first name, of members in the order of suit, that is not
// taken and does not differ from that of a known group by case alone, and marks it as taken.
func clusterName(tags []labels.DraftTag, suited []int, taken, known map[string]bool) string {
	for _, i := range suited {
		if name := tags[i].Name; !taken[name] && !known[foldName(name)] {
			taken[name] = true
			return name
		}
	}
	// All names can be taken only if tags differ just by their item, or have the name of a group.
	for n := 2; ; n++ {
		if name := fmt.Sprintf("%s (%d)", tags[suited[0]].Name, n); !taken[name] {
			taken[name] = true
			return name
		}
	}
}

// byDistance lists the members nearest first and marks outliers.
func byDistance(x Matrix, centroid []float64, tags []int) []labels.Member {
	members := make([]labels.Member, len(tags))
	for at, i := range tags {
		members[at] = labels.Member{Tag: i, Distance: math.Sqrt(distance2(x.Row(i), centroid))}
	}
	slices.SortFunc(members, func(a, b labels.Member) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Tag, b.Tag))
	})
	if len(members) >= 4 {
		low, high := quantile(members, 0.25), quantile(members, 0.75)
		for i := range members {
			members[i].Outlier = members[i].Distance > high+1.5*(high-low)
		}
	}
	return members
}

// quantile returns a quantile of sorted distances by linear interpolation.
func quantile(members []labels.Member, q float64) float64 {
	at := q * float64(len(members)-1)
	i := int(at)
	if i+1 == len(members) {
		return members[i].Distance
	}
	return members[i].Distance + (at-float64(i))*(members[i+1].Distance-members[i].Distance)
}

// nearestClusters returns the ids of the clusters whose centroids have the most similar directions. By distance, a
// cluster of scattered tags, whose centroid is short, would be near to all others.
func nearestClusters(centroids []float64, d int, order []int, id int) []int {
	own := centroids[order[id]*d : (order[id]+1)*d]
	alike := make([]float64, len(order))
	var ids []int
	for other, k := range order {
		if other == id {
			continue
		}
		along, square := 0.0, 0.0
		for j, v := range centroids[k*d : (k+1)*d] {
			along += v * own[j]
			square += v * v
		}
		if square > 0 {
			alike[other] = along / math.Sqrt(square)
		}
		ids = append(ids, other)
	}
	slices.SortFunc(ids, func(a, b int) int { return cmp.Or(cmp.Compare(alike[b], alike[a]), cmp.Compare(a, b)) })
	return ids[:min(neighbours, len(ids))]
}
