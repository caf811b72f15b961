package cluster

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"hgld/internal/blas"
	"hgld/internal/vec"
)

// KMeans holds the settings of k-means, named as in scikit-learn (n_clusters is
// K). It minimises the inertia
//
//	Σ_i ‖x_i − c_label(i)‖²
//
// by Lloyd's rule from several starts and keeps the best. A start is drawn as
// Init says unless it is given. With Weights row i counts w_i times: in the
// inertia, the means and the draws.
//
// Spherical takes directions alone (Dhillon and Modha, Machine Learning 42,
// 2001): rows are normalised, the nearest centroid is the one with the largest
// dot product, a centroid is the normalised sum of its rows, and the inertia is
// Σ (1 − cos).
//
// A tie goes to the lower cluster. A cluster that lost all its rows takes,
// before means are formed, the row farthest from its own centroid (ties: the
// lowest row); several empty clusters take the farthest rows in order. Such a
// row leaves its cluster. Fewer distinct rows than K leave clusters empty.
//
// With Known, clusters 0 … G−1 are groups of an earlier curation, their rows stay
// there, and the K−G others are open (Constrained-KMeans of Basu, Banerjee and
// Mooney, ICML 2002): a group starts at the mean of its rows, open clusters are
// drawn among the rest, and every other row joins the nearest of all K, whose
// means take it in. Rows of one group so must link, rows of two cannot.
type KMeans struct {
	K         int
	Algorithm Algorithm
	Init      Init
	NInit     int     // starts; 0 means 1
	MaxIter   int     // most assignments in one start; 0 means 300
	Tol       float64 // stop when Σ‖c−c'‖² ≤ Tol · mean variance of the columns; 0 runs until nothing changes, where scikit-learn's default is 1e-4
	Spherical bool
	Batch     int             // rows of a step of MiniBatch; 0 means 4096
	Weights   []float64       // of the rows, above 0; nil: all 1
	Known     *Known          // rows that have a group already; may be nil
	Start     Matrix          // centroids to start from [K,D]; none: drawn
	Tree      *Tree           // of these rows, for WardMeans or agglomerative clustering; nil: made
	Ops       Ops             // nil means CPU with BLAS
	BLAS      blas.Library    // for CPU and for drawing starts; nil means gonum
	Watch     func(Iteration) // called after each iteration; may be nil
}

// Algorithm says how KMeans finds the nearest centroid of each row.
type Algorithm int

const (
	// Lloyd compares every row with every centroid.
	Lloyd Algorithm = iota
	// Elkan leaves out what the triangle inequality excludes (ICML 2003), with one
	// bound for each group of centroids as Yinyang k-means has (Ding et al., ICML
	// 2015): the same partition, in 4·N·K/16 bytes of bounds or fewer, and 4·N·K bytes
	// of products while a start that was drawn from all rows is assigned.
	Elkan
	// MiniBatch moves centroids by random batches (Sculley, WWW 2010) and compares
	// all rows once, at the end: for sets that take too long otherwise, at a higher
	// inertia.
	MiniBatch
)

// Init says how starts are drawn.
type Init int

const (
	// GreedyPlusPlus is k-means++ with the best of 2 + ⌊ln K⌋ candidates in each
	// step, as in the experiments of Arthur and Vassilvitskii.
	GreedyPlusPlus Init = iota
	// PlusPlus is k-means++ (Arthur and Vassilvitskii, SODA 2007).
	PlusPlus
	// Random takes rows at random, whatever their weights.
	Random
	// WardMeans starts at the means of the clusters that Ward's tree of the rows is
	// cut into: nothing is drawn, so there is one start whatever NInit says. Weights
	// do not enter the tree.
	WardMeans
)

// Known gives rows to named groups that they stay in.
type Known struct {
	Names []string
	Of    []int32 // index into Names for each row, −1 for none
}

func (k *Known) groups() int {
	if k == nil {
		return 0
	}
	return len(k.Names)
}

// fixed reports whether row i has a group.
func (k *Known) fixed(i int) bool { return k != nil && k.Of[i] >= 0 }

// Iteration tells how a run is going.
type Iteration struct {
	Restart   int     `json:"restart"`   // from 0
	Iteration int     `json:"iteration"` // from 1
	Inertia   float64 `json:"inertia"`   // of this assignment to the centroids before they move, to float32's accuracy
	Moved     int     `json:"moved"`     // rows that changed their cluster
	Refilled  int     `json:"refilled"`  // empty clusters that took a row
	Shift     float64 `json:"shift"`     // Σ‖c−c'‖² of the centroids
}

// Result is a partition of the rows.
type Result struct {
	Labels     []int32     // cluster of each row [N]
	Sizes      []int       // rows of each cluster [K]
	Centroids  []float64   // mean of each cluster's rows [K,D]; of an empty cluster, where it was left
	Inertia    float64     // of Labels and Centroids, in float64
	Spherical  bool        // as in KMeans
	Known      *Known      // as in KMeans
	Algorithm  string      // "k-means", "mini-batch k-means", either with "spherical " before it, "ward" or "average"
	Iterations int         // assignments of the best start
	Restart    int         // the best start
	Restarts   []float64   // inertia of each start
	History    []Iteration // of the best start
}

const defaultMaxIter = 300

// Run clusters the rows of x. Start number r draws from a random stream of (seed,
// r), so more starts never change the earlier ones. A cancelled ctx ends it
// between two iterations with ctx's error.
func (o KMeans) Run(ctx context.Context, x Matrix, seed uint64) (*Result, error) {
	if err := o.check(x); err != nil {
		return nil, fmt.Errorf("cluster: k-means: %w", err)
	}
	if o.Ops == nil {
		o.Ops = CPU{BLAS: o.BLAS}
	}
	if o.MaxIter == 0 {
		o.MaxIter = defaultMaxIter
	}
	p, err := o.prepare(x)
	if err != nil {
		return nil, fmt.Errorf("cluster: k-means: %w", err)
	}
	var best *Result
	var inertias []float64
	starts := o.starts()
	gram := o.gram(p, starts)
	for restart := range starts {
		random := rand.New(rand.NewPCG(seed, uint64(restart)))
		start, err := p.start(ctx, o, gram, random)
		if err != nil {
			return nil, fmt.Errorf("cluster: k-means: %w", err)
		}
		if o.Algorithm == MiniBatch {
			if err := p.miniBatch(ctx, o, start.centroids, random); err != nil {
				return nil, fmt.Errorf("cluster: k-means: %w", err)
			}
		}
		r, err := p.descend(ctx, o, start, restart)
		if err != nil {
			return nil, fmt.Errorf("cluster: k-means: %w", err)
		}
		inertias = append(inertias, r.Inertia)
		if best == nil || r.Inertia < best.Inertia {
			best = r
		}
	}
	best.Restarts, best.Spherical, best.Known, best.Algorithm = inertias, o.Spherical, o.Known, o.name()
	return best, nil
}

// starts is how many starts are made.
func (o KMeans) starts() int {
	if o.Start.Rows == 0 && o.Init == WardMeans {
		return 1
	}
	return max(o.NInit, 1)
}

// start is where a run begins.
type start struct {
	centroids []float64   // [K,D] in the space of y
	products  [][]float32 // of all rows with each; nil where they are not known
}

func (p *problem) start(ctx context.Context, o KMeans, gram []float32, random *rand.Rand) (start, error) {
	switch {
	case o.Start.Rows > 0:
		return start{centroids: p.given(o.Start)}, nil
	case o.Init == WardMeans:
		centroids, err := p.wardMeans(ctx, o)
		return start{centroids: centroids}, err
	}
	return p.draw(o, gram, random), nil
}

func (o KMeans) name() string {
	name := "k-means"
	if o.Algorithm == MiniBatch {
		name = "mini-batch k-means"
	}
	if o.Spherical {
		name = "spherical " + name
	}
	return name
}

func (o KMeans) check(x Matrix) error {
	switch {
	case len(x.Data) != x.Rows*x.Cols || len(o.Start.Data) != o.Start.Rows*o.Start.Cols:
		panic("cluster: a matrix's data does not fit its shape")
	case o.K < 1:
		return fmt.Errorf("k = %d clusters, want at least 1", o.K)
	case o.K > x.Rows:
		return fmt.Errorf("k = %d clusters of only %d rows; lower k", o.K, x.Rows)
	case x.Cols == 0:
		return fmt.Errorf("the vectors have no values")
	case o.NInit < 0 || o.MaxIter < 0 || o.Batch < 0 || !(o.Tol >= 0):
		return fmt.Errorf("n_init %d, max_iter %d, batch %d and tol %v must not be negative", o.NInit, o.MaxIter, o.Batch, o.Tol)
	case o.Weights != nil && len(o.Weights) != x.Rows || o.Known != nil && len(o.Known.Of) != x.Rows || o.Tree != nil && (o.Tree.Rows != x.Rows || o.Tree.Linkage != Ward):
		panic("cluster: weights, groups or a tree of other rows")
	case o.Start.Rows > 0 && o.Known != nil:
		return fmt.Errorf("a given start and known groups exclude each other")
	case o.Start.Rows > 0 && (o.Start.Rows != o.K || o.Start.Cols != x.Cols):
		return fmt.Errorf("start is [%d,%d], want [%d,%d]", o.Start.Rows, o.Start.Cols, o.K, x.Cols)
	case o.Start.Rows > 0 && o.NInit > 1:
		return fmt.Errorf("n_init = %d with a given start; all runs would be equal", o.NInit)
	}
	if err := o.Start.finite(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	for i, w := range o.Weights {
		if !(w > 0) || math.IsInf(w, 1) {
			return fmt.Errorf("row %d has the weight %v; want one above 0", i, w)
		}
	}
	if err := o.Known.check(o.K); err != nil {
		return err
	}
	return x.finite()
}

func (k *Known) check(clusters int) error {
	if k == nil {
		return nil
	}
	if len(k.Names) > clusters {
		return fmt.Errorf("%d known groups and only %d clusters; raise k", len(k.Names), clusters)
	}
	rows := make([]int, len(k.Names))
	for i, g := range k.Of {
		if int(g) >= len(k.Names) {
			return fmt.Errorf("row %d is in group %d of %d", i, g, len(k.Names))
		}
		if g >= 0 {
			rows[g]++
		}
	}
	for g, n := range rows {
		if n == 0 {
			return fmt.Errorf("known group %.80q has no row; leave it out", k.Names[g])
		}
	}
	return nil
}

// problem is x made ready for fast comparison: of unit length for spherical
// k-means, else shifted where the rows lie far from the origin.
type problem struct {
	x        Matrix    // as given
	norms    []float64 // lengths of the rows of x; nil unless spherical
	y        Matrix    // rows to compare
	yy       []float64 // their squared lengths
	shift    []float64 // y = x − shift; nil for none
	variance float64   // mean over the columns of y's variance
	weights  []float64 // nil: all 1
	known    *Known
}

// weight is what row i counts.
func (p *problem) weight(i int) float64 {
	if p.weights == nil {
		return 1
	}
	return p.weights[i]
}

// farAway is the ratio of ‖mean‖² to the rows' mean squared distance from it
// above which rows are shifted: there cc − 2x·c loses more than log2(64) = 6 of
// float32's 24 bits. Below it rows are left as they are, so that small integers
// stay exact and ties are found.
const farAway = 64

func (o KMeans) prepare(x Matrix) (*problem, error) {
	p := &problem{x: x, y: x, weights: o.Weights, known: o.Known}
	if o.Spherical {
		var err error
		if p.y, p.norms, err = normalize(x); err != nil {
			return nil, err
		}
	}
	mean, scatter := meanScatter(p.y)
	p.variance = scatter / float64(x.Rows) / float64(x.Cols)
	far := 0.0
	for _, m := range mean {
		far += m * m
	}
	if !o.Spherical && far > farAway*scatter/float64(x.Rows) {
		p.shift, p.y = mean, NewMatrix(x.Rows, x.Cols)
		for i := range x.Rows {
			y := p.y.Row(i)
			for j, v := range x.Row(i) {
				y[j] = float32(float64(v) - mean[j])
			}
		}
	}
	p.yy = make([]float64, x.Rows)
	for i := range p.yy {
		p.yy[i] = vec.Dot(p.y.Row(i), p.y.Row(i))
	}
	return p, nil
}

// meanScatter returns the mean of the rows and Σ‖x−mean‖².
func meanScatter(x Matrix) (mean []float64, scatter float64) {
	mean = make([]float64, x.Cols)
	vec.ColumnSums(mean, x.Data, x.Rows, x.Cols)
	for j := range mean {
		mean[j] /= float64(x.Rows)
	}
	each := make([]float64, x.Rows)
	parallel((x.Rows+tileRows-1)/tileRows, func(tile int) {
		for i := tile * tileRows; i < min((tile+1)*tileRows, x.Rows); i++ {
			each[i] = distance2(x.Row(i), mean)
		}
	})
	for _, d := range each {
		scatter += d
	}
	return mean, scatter
}

// given brings start points into the space of y.
func (p *problem) given(start Matrix) []float64 {
	c := make([]float64, len(start.Data))
	for i, v := range start.Data {
		c[i] = float64(v)
		if p.shift != nil {
			c[i] -= p.shift[i%start.Cols]
		}
	}
	if p.norms != nil {
		for k := range start.Rows {
			unit(c[k*start.Cols : (k+1)*start.Cols])
		}
	}
	return c
}

// unit divides v by its length and reports whether it has one.
func unit(v []float64) bool {
	n := 0.0
	for _, a := range v {
		n += a * a
	}
	if n == 0 {
		return false
	}
	n = math.Sqrt(n)
	for i := range v {
		v[i] /= n
	}
	return true
}
