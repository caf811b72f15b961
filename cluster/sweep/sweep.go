// Package sweep measures drafts of several sizes and settings, so that a user can choose
// between them: `hgld cluster sweep`. It clusters plans of package cluster from several
// seeds and returns Points, which can be written as a table or as plots.
package sweep

import (
	"context"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"hgld/cluster"
	"hgld/internal/usage"
)

// Estimate is a measure over the seeds.
type Estimate struct {
	Mean      float64 `json:"mean"`      // the arithmetic mean
	Deviation float64 `json:"deviation"` // the standard deviation of one seed, over n−1; 0 for one seed
}

// Point is what one combination of settings gives.
type Point struct {
	Settings map[string]string `json:"settings,omitempty"` // those that vary between points, by key
	K        int               `json:"k"`                  // the number of clusters
	Seeds    int               `json:"seeds"`              // the number of partitions: 1 where the result does not depend on the seed
	Inertia  Estimate          `json:"inertia"`            // that of the clustering

	*Shape            // judges by the vectors alone; nil where known groups judge
	Judged *Judgement `json:"judged,omitempty"` // judges by known groups; nil where there are none
	// Stability is the mean adjusted Rand index of two seeds; nil for one partition.
	Stability *float64 `json:"stability,omitempty"`
	Largest   int      `json:"largest"` // the number of rows of the largest cluster, for the first seed
	Alone     int      `json:"alone"`   // the number of clusters of one row, for the first seed
}

// Shape judges a partition by the vectors alone.
type Shape struct {
	Silhouette       Estimate `json:"silhouette"`        // the mean silhouette by Euclidean distance
	SilhouetteCosine Estimate `json:"silhouette_cosine"` // the mean silhouette by cosine distance
	CalinskiHarabasz Estimate `json:"calinski_harabasz"` // the variance ratio; higher is better
	DaviesBouldin    Estimate `json:"davies_bouldin"`    // the Davies–Bouldin index; lower is better
}

// Sweep says how points are measured.
type Sweep struct {
	Seeds int // the number of seeds; at least 1
	// Drop is the share of the tags that each seed leaves out, in [0, 1). Judged tags and
	// those of known groups stay.
	Drop  float64
	Truth *Truth // has the known groups; nil to judge by the vectors
	// Begin is called before each clustering and returns what is called after each
	// iteration and at the end. It may be nil.
	Begin func(k int) (watch func(cluster.Iteration), end func())

	thin   []*cluster.Plan // the last plan without the tags that each seed leaves out
	thinOf *cluster.Plan   // that plan
}

// Measure clusters a plan's tags into k: from several seeds, counted from seed up, or once
// where the result does not depend on the seed. o are the plan's options.
func (w *Sweep) Measure(ctx context.Context, p *cluster.Plan, o cluster.Options, k int, seed uint64) (Point, error) {
	point := Point{K: k, Seeds: w.Seeds}
	if !p.Random() && w.Drop == 0 {
		point.Seeds = 1
	}
	var partitions [][]int32
	values := map[*Estimate][]float64{}
	for i := range point.Seeds {
		plan, err := w.planOf(p, o, seed, i)
		if err != nil {
			return point, err
		}
		r, err := w.run(ctx, plan, k, seed+uint64(i))
		if err != nil {
			return point, err
		}
		if i == 0 {
			point.size(r)
		}
		partitions = append(partitions, r.Labels)
		if err := w.add(&point, values, plan, r); err != nil {
			return point, err
		}
	}
	for f, v := range values {
		*f = estimateOf(v)
	}
	if len(partitions) < 2 || w.Drop > 0 { // partitions of different tags cannot be compared
		return point, nil
	}
	stability, err := cluster.Stability(partitions)
	point.Stability = &stability
	return point, err
}

func (w *Sweep) run(ctx context.Context, p *cluster.Plan, k int, seed uint64) (*cluster.Result, error) {
	if w.Begin == nil {
		return p.Run(ctx, k, seed, nil)
	}
	watch, end := w.Begin(k)
	defer end()
	return p.Run(ctx, k, seed, watch)
}

// planOf returns the plan of seed number i, without the tags that it leaves out.
func (w *Sweep) planOf(p *cluster.Plan, o cluster.Options, seed uint64, i int) (*cluster.Plan, error) {
	if w.Drop == 0 {
		return p, nil
	}
	if w.thinOf != p {
		w.thinOf, w.thin = p, nil
	}
	if i == len(w.thin) {
		random := rand.New(rand.NewPCG(seed+uint64(i), uint64(len(p.Tags))))
		w.thin = append(w.thin, p.Without(func(row int) bool {
			dropped := random.Float64() < w.Drop
			return dropped && !w.Truth.has(p.Tags[row].Name)
		}))
	}
	return w.thin[i], w.thin[i].SetOptions(o)
}

// size notes the sizes of the clusters.
func (p *Point) size(r *cluster.Result) {
	for _, size := range r.Sizes {
		p.Largest = max(p.Largest, size)
		if size == 1 {
			p.Alone++
		}
	}
}

// add collects the measures of one partition: by known groups if there are any, otherwise
// by the vectors as they were before smoothing.
func (w *Sweep) add(point *Point, values map[*Estimate][]float64, p *cluster.Plan, r *cluster.Result) error {
	add := func(f *Estimate, v float64) { values[f] = append(values[f], v) }
	add(&point.Inertia, r.Inertia)
	if w.Truth != nil {
		if point.Judged == nil {
			point.Judged = &Judgement{}
		}
		return w.Truth.judge(point.Judged, add, p.Tags, r.Labels)
	}
	if point.Shape == nil {
		point.Shape = &Shape{}
	}
	m, err := cluster.Measure(p.Vectors(), r.Labels, p.BLAS())
	add(&point.Silhouette, m.Silhouette)
	add(&point.SilhouetteCosine, m.SilhouetteCosine)
	add(&point.CalinskiHarabasz, m.CalinskiHarabasz)
	add(&point.DaviesBouldin, m.DaviesBouldin)
	return err
}

func estimateOf(values []float64) Estimate {
	var f Estimate
	for _, v := range values {
		f.Mean += v / float64(len(values))
	}
	if len(values) > 1 {
		for _, v := range values {
			f.Deviation += (v - f.Mean) * (v - f.Mean) / float64(len(values)-1)
		}
		f.Deviation = math.Sqrt(f.Deviation)
	}
	return f
}

// Sizes reads a list of numbers of clusters, separated by commas. Every number must suit
// the plan: at least 2 and at least Plan.Least, and fewer than its tags. With fit,
// numbers that do not suit are left out instead. The error is a usage error.
func Sizes(list string, fit bool, p *cluster.Plan) ([]int, error) {
	least, most := max(2, p.Least()), len(p.Tags)-1
	var ks []int
	for text := range strings.SplitSeq(list, ",") {
		k, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return nil, usage.Errorf("%.80q is not a whole number", text)
		}
		if k >= least && k <= most {
			ks = append(ks, k)
		} else if !fit {
			return nil, usage.Errorf("%d clusters of %d tags cannot be measured; want %d to %d", k, len(p.Tags), least, most)
		}
	}
	if len(ks) == 0 {
		return nil, usage.Errorf("none of the numbers of clusters %s is possible with %d tags; choose others", list,
			len(p.Tags))
	}
	return ks, nil
}

// Variation is a setting and the values it takes.
type Variation struct {
	Key    string   // the setting's name
	Values []string // its values as text
}

// Combinations lists every choice of one value for each variation, the last varying
// fastest.
func Combinations(varied []Variation) [][]string {
	all := [][]string{nil}
	for _, v := range varied {
		var longer [][]string
		for _, values := range all {
			for _, value := range v.Values {
				longer = append(longer, append(values[:len(values):len(values)], value))
			}
		}
		all = longer
	}
	return all
}
