package cluster

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"hgld/internal/blas"
	"hgld/internal/vec"
	"hgld/labels"
)

// KMeans holds the settings of k-means, named as in scikit-learn (n_clusters is K). It
// minimises the inertia
//
//	Σ_i ‖x_i − c_label(i)‖²
//
// by Lloyd's rule from several starts and keeps the best. Init says how a start is
// drawn unless Start gives one. With Weights, row i counts w_i times in the inertia,
// the means and the draws.
//
// With Spherical only directions count (Dhillon and Modha, Machine Learning 42, 2001):
// rows are normalised, the nearest centroid is the one with the largest dot product, a
// centroid is the normalised sum of its rows, and the inertia is Σ (1 − cos).
//
// A tie goes to the lower cluster. A cluster that lost all its rows takes, before the
// means are computed, the row farthest from its own centroid (ties: the lowest row);
// several empty clusters take the farthest rows in order. Such a row leaves its
// cluster. With fewer distinct rows than K, clusters stay empty.
//
// With Known, clusters 0 … G−1 are groups of an earlier curation that keep their rows,
// and the K−G others are open (Constrained-KMeans of Basu, Banerjee and Mooney, ICML
// 2002). A group starts at the mean of its rows, and open clusters are drawn among the
// other rows. Every other row joins the nearest of all K clusters and counts in its
// mean. Rows of one group must link; rows of two groups cannot.
type KMeans struct {
	K         int       // the number of clusters
	Algorithm Algorithm // finds the nearest centroids
	Init      Init      // draws the starts
	NInit     int       // the number of starts; 0 means 1
	MaxIter   int       // the largest number of assignments of one start; 0 means 300
	Spherical bool      // clusters directions instead of positions
	Batch     int       // the number of rows of a step of MiniBatch; 0 means 4096
	Weights   []float64 // those of the rows, above 0; nil for 1 each
	Known     *Known    // the rows that have a group already; nil for none
	Start     Matrix    // has the centroids to start from, [K,D]; without rows they are drawn
	// Tree is a tree of these rows for WardMeans or agglomerative clustering; nil to
	// make one.
	Tree  *Tree
	BLAS  blas.Library    // computes matrix products; nil means gonum
	Watch func(Iteration) // called after each iteration; it may be nil
}

// Algorithm is how KMeans finds the nearest centroid of each row.
type Algorithm int

const (
	// Lloyd compares every row with every centroid.
	Lloyd Algorithm = iota
	// Elkan skips what the triangle inequality excludes (ICML 2003), with one bound for
	// each group of centroids as in Yinyang k-means (Ding et al., ICML 2015). The
	// partition is the same. It takes at most 4·N·K/16 bytes of bounds, and 4·N·K bytes of
	// products while a start that was drawn from all rows is assigned.
	Elkan
	// MiniBatch moves centroids by random batches (Sculley, WWW 2010) and compares all
	// rows once, at the end. It is for sets that take too long otherwise, and reaches a
	// higher inertia.
	MiniBatch
)

// Init is how starts are drawn.
type Init int

const (
	// GreedyPlusPlus is k-means++ with the best of 2 + ⌊ln K⌋ candidates in each
	// step, as in the experiments of Arthur and Vassilvitskii.
	GreedyPlusPlus Init = iota
	// PlusPlus is k-means++ (Arthur and Vassilvitskii, SODA 2007).
	PlusPlus
	// Random takes rows at random, whatever their weights.
	Random
	// WardMeans starts from the means of clusters that Ward's tree of the rows is cut
	// into. Nothing is drawn, so there is one start whatever NInit says. The tree does not
	// take weights into account.
	WardMeans
	// TaxonomyMeans starts from the means of the groups that the classes above the tags form. A
	// Plan finds them and sets Start.
	TaxonomyMeans
)

// Known assigns rows to named groups, which keep them.
type Known struct {
	Names []string // the names of the groups
	Of    []int32  // the index into Names of each row's group, −1 for none
}

func (k *Known) groups() int {
	if k == nil {
		return 0
	}
	return len(k.Names)
}

// fixed reports whether row i has a group.
func (k *Known) fixed(i int) bool { return k != nil && k.Of[i] >= 0 }

// Iteration reports the progress of a run.
type Iteration struct {
	Restart   int     `json:"restart"`   // from 0
	Iteration int     `json:"iteration"` // from 1
	Inertia   float64 `json:"inertia"`   // of this assignment to the centroids before they move, in float32 accuracy
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
	Algorithm  string      // "k-means", "mini-batch k-means", either with "spherical " before it, "ward", "average" …
	Iterations int         // assignments of the best start
	Restart    int         // the best start
	Restarts   []float64   // inertia of each start
	History    []Iteration // of the best start

	Classes []*labels.Item // of a taxonomy: the class of each cluster, nil for one that was found by vectors [K]
}

const defaultMaxIter = 300

// Run clusters the rows of x. Start number r draws from a random stream of (seed, r),
// so that more starts never change the earlier ones. If ctx is cancelled, Run returns
// its error after the current iteration.
func (o KMeans) Run(ctx context.Context, x Matrix, seed uint64) (*Result, error) {
	r, err := o.run(ctx, x, seed)
	if err != nil {
		return nil, fmt.Errorf("cluster: k-means: %w", err)
	}
	return r, nil
}

func (o KMeans) run(ctx context.Context, x Matrix, seed uint64) (*Result, error) {
	if err := o.check(x); err != nil {
		return nil, err
	}
	o.MaxIter = cmp.Or(o.MaxIter, defaultMaxIter)
	p, err := o.prepare(x)
	if err != nil {
		return nil, err
	}
	var best *Result
	var inertias []float64
	starts := o.starts()
	gram := o.gram(p, starts)
	for restart := range starts {
		random := rand.New(rand.NewPCG(seed, uint64(restart)))
		start, err := p.start(ctx, o, gram, random)
		if err == nil && o.Algorithm == MiniBatch {
			err = p.miniBatch(ctx, o, start.centroids, random)
		}
		if err != nil {
			return nil, err
		}
		r, err := p.descend(ctx, o, start, restart)
		if err != nil {
			return nil, err
		}
		inertias = append(inertias, r.Inertia)
		if best == nil || r.Inertia < best.Inertia {
			best = r
		}
	}
	best.Restarts, best.Spherical, best.Known, best.Algorithm = inertias, o.Spherical, o.Known, o.name()
	return best, nil
}

// starts returns the number of starts.
func (o KMeans) starts() int {
	if o.Start.Rows == 0 && o.Init == WardMeans || o.Init == TaxonomyMeans {
		return 1
	}
	return max(o.NInit, 1)
}

// start is where a run begins.
type start struct {
	centroids []float64   // [K,D] in the space of y
	products  [][]float32 // of all rows with each; nil if they are not known
}

func (p *problem) start(ctx context.Context, o KMeans, gram []float32, random *rand.Rand) (start, error) {
	switch {
	case o.Start.Rows > 0:
		return start{centroids: p.given(o.Start)}, nil
	case o.Init == TaxonomyMeans:
		return start{}, errNoItems
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
		return fmt.Errorf("k is %d, but there are only %d rows; lower k", o.K, x.Rows)
	case x.Cols == 0:
		return fmt.Errorf("the vectors have no values")
	case o.NInit < 0 || o.MaxIter < 0 || o.Batch < 0:
		return fmt.Errorf("n_init %d, max_iter %d and batch %d must not be negative", o.NInit, o.MaxIter, o.Batch)
	case o.Weights != nil && len(o.Weights) != x.Rows || o.Known != nil && len(o.Known.Of) != x.Rows || o.Tree != nil &&
		(o.Tree.Rows != x.Rows || o.Tree.Linkage != Ward):
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
		return fmt.Errorf("%d known groups need at least as many clusters, but k is %d; raise k", len(k.Names), clusters)
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
			return fmt.Errorf("known group %.80q has no rows; leave it out", k.Names[g])
		}
	}
	return nil
}

// problem is x prepared for fast comparison: with unit length for spherical k-means,
// otherwise shifted if the rows are far from the origin.
type problem struct {
	x       Matrix    // as given
	norms   []float64 // lengths of the rows of x; nil unless spherical
	y       Matrix    // rows to compare
	yy      []float64 // their squared lengths
	shift   []float64 // y = x − shift; nil for none
	weights []float64 // nil: all 1
	known   *Known
}

// weight returns the weight of row i.
func (p *problem) weight(i int) float64 {
	if p.weights == nil {
		return 1
	}
	return p.weights[i]
}

// farAway is the ratio of ‖mean‖² to the mean squared distance of the rows from their
// mean above which rows are shifted. Beyond it cc − 2x·c loses more than log2(64) = 6
// of the 24 bits of a float32. Below it rows are left as they are, so that small
// integers stay exact and ties are found.
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
	tiles(x.Rows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			each[i] = distance2(x.Row(i), mean)
		}
	})
	for _, d := range each {
		scatter += d
	}
	return mean, scatter
}

// given maps start points into the space of y.
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
			Normalize(c[k*start.Cols : (k+1)*start.Cols])
		}
	}
	return c
}

// Normalize scales v to unit length. It returns false for a vector of zeros.
func Normalize(v []float64) bool {
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
