package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hgld/internal/blas"
	"hgld/internal/registry"
	"hgld/internal/usage"
	"hgld/labels"
)

// Options are the settings of a clustering of tags, as the stage "cluster" of
// hgld.yaml names them.
type Options struct {
	Algorithm string // a name in Methods
	Init      string // a name in Inits
	NInit     int    // the number of starts, of which the best is kept; at least 1
	MaxIter   int    // the largest number of iterations of one start
	Center    bool   // subtracts the mean of the vectors first
	PCA       int    // the number of principal components to keep; 0 keeps the vectors
	Whiten    bool   // divides each principal component by its standard deviation
	Join      string // a name in Joins: what each vector is preparedAs with
	Smooth    int    // the largest number of neighbours to average each vector with; 0: none
}

// Weights are the names of what a tag can count by in k-means.
var Weights = []string{"tags", "landmarks", "images"}

// Plan is what a run of stage 2 works on: tags, their prepared vectors, and how they
// are clustered. It caches smoothed vectors and trees, so that several numbers of
// clusters, seeds and algorithms share them.
type Plan struct {
	// Tags are the tags, one for each row of the vectors.
	Tags []labels.DraftTag

	x       Matrix
	options Options
	method  Method
	base    KMeans
	named   *named // groups by name; nil for none

	items    func() (*labels.Items, error) // loads the items of stage 1; nil: there are none
	taxonomy *taxonomy                     // of Tags; nil until it is needed

	prepared map[preparedAs]Matrix // x, preparedAs and averaged
	trees    map[treeOf]*Tree      // serve all numbers of clusters
}

// preparedAs says how rows are prepared for clustering.
type preparedAs struct {
	join       string
	neighbours int
}

// treeOf says what a tree was made from.
type treeOf struct {
	preparedAs
	linkage Linkage
}

// mostTreeRows is the largest number of rows of a tree: their distances take 800 MB,
// four bytes for each pair.
const mostTreeRows = 20000

// NewPlan starts a plan for k clusters of tags; k is 0 where it is not known yet. The
// error is a usage error. SetVectors must follow before Run, and WeighBy and KeepGroups
// may.
func NewPlan(tags []labels.DraftTag, o Options, k int) (*Plan, error) {
	p := &Plan{Tags: tags, prepared: map[preparedAs]Matrix{}, trees: map[treeOf]*Tree{}}
	if k > len(tags) {
		return nil, usage.Errorf("k is %d, but there are only %d tags to cluster; choose a smaller k", k, len(tags))
	}
	return p, p.SetOptions(o)
}

// SetOptions changes how a plan clusters. The options of its vectors, Center, PCA and
// Whiten, take effect at the next SetVectors. The error is a usage error.
func (p *Plan) SetOptions(o Options) error {
	method, init, err := o.resolve()
	if err != nil {
		return usage.Wrap(err)
	}
	lib, err := blas.Default()
	if err != nil {
		return usage.Wrap(err)
	}
	p.options, p.method = o, method
	p.base.NInit, p.base.MaxIter = o.NInit, o.MaxIter
	p.base.Init, p.base.BLAS = init, lib
	if _, needed := p.linkage(); needed && len(p.Tags) > mostTreeRows {
		return usage.Errorf("%d tags are too many for a tree of all pairs; want at most %d: "+
			"algorithm lloyd with init greedy-k-means++ needs no tree", len(p.Tags), mostTreeRows)
	}
	return nil
}

// Check returns a usage error if options cannot be met by any tags.
func (o Options) Check() error {
	if _, _, err := o.resolve(); err != nil {
		return usage.Wrap(err)
	}
	if _, err := blas.Default(); err != nil {
		return usage.Wrap(err)
	}
	return nil
}

// resolve finds the algorithm and the start by name and checks the numbers.
func (o Options) resolve() (Method, Init, error) {
	method, err := Methods.Get("algorithm", o.Algorithm)
	if err != nil {
		return nil, 0, err
	}
	init, err := Inits.Get("init", o.Init)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case !slices.Contains(Joins, o.Join):
		err = registry.Unknown("join", o.Join, Joins)
	case o.Smooth < 0:
		err = fmt.Errorf("smooth is %d; want a number of neighbours, or 0", o.Smooth)
	case o.PCA < 0:
		err = fmt.Errorf("pca is %d; want a number of principal components, or 0 for all", o.PCA)
	case o.NInit < 1:
		err = fmt.Errorf("n_init is %d; want a number of starts, at least 1", o.NInit)
	case o.Whiten && o.PCA == 0:
		err = fmt.Errorf("whiten scales principal components; set pca to their number")
	}
	return method, init, err
}

// ErrNoImages is the error of weighing tags by their images if none were counted.
var ErrNoImages = errors.New("tags cannot be weighed by images: none were counted")

// WeighBy sets what tags count by in k-means, a name of Weights; every tag counts at
// least 1. Images must have been counted before (CountImages). The error is an
// usage error.
func (p *Plan) WeighBy(name string) error {
	weights, images := make([]float64, len(p.Tags)), 0
	for i, t := range p.Tags {
		images += t.Images
		switch name {
		case "tags":
		case "landmarks":
			weights[i] = float64(max(t.Landmarks, 1))
		case "images":
			weights[i] = float64(max(t.Images, 1))
		default:
			return usage.Wrap(registry.Unknown("weight", name, Weights))
		}
	}
	switch {
	case name == "tags":
		p.base.Weights = nil
		return nil
	case name == "images" && images == 0:
		return usage.Wrap(ErrNoImages)
	}
	p.base.Weights = weights
	return nil
}

// KeepGroups makes tags keep the groups that they have in an earlier hierarchy, and
// returns the number of such groups and of their tags: 0 and 0 if the hierarchy has none
// of the tags. k is the number of clusters, or 0 where it is not known yet; fewer
// clusters than groups are a usage error.
func (p *Plan) KeepGroups(h *labels.Hierarchy, k int) (groups, tags int, err error) {
	if p.base.Known = KnownFrom(p.Tags, h); p.base.Known == nil {
		return 0, 0, nil
	}
	groups = p.Groups()
	for _, g := range p.base.Known.Of {
		if g >= 0 {
			tags++
		}
	}
	if k > 0 && k < groups {
		return groups, tags, usage.Errorf("k is %d, and %d groups of the hierarchy have a tag here; choose at least that "+
			"many clusters", k, groups)
	}
	return groups, tags, nil
}

// Groups returns the number of known groups that have a tag here.
func (p *Plan) Groups() int { return p.base.Known.groups() }

// Least returns the smallest number of clusters that the plan can run with: its known
// groups, or its groups by name and one for the rest.
func (p *Plan) Least() int {
	if p.named != nil {
		return len(p.named.names) + 1
	}
	return max(1, p.Groups())
}

// SetVectors gives the plan the vectors of its tags, a row for each, and prepares them
// as the options say. More principal components than there are is a usage error.
func (p *Plan) SetVectors(x Matrix) error {
	if p.options.Center {
		x = Center(x)
	}
	if p.options.PCA > 0 {
		pca, err := FitPCA(x, p.options.PCA)
		if err != nil {
			return usage.Wrap(err)
		}
		x = pca.Project(x, p.options.Whiten)
	}
	p.x = x
	return nil
}

// Vectors returns the prepared vectors, before smoothing.
func (p *Plan) Vectors() Matrix { return p.x }

// BLAS returns the library that the plan computes with.
func (p *Plan) BLAS() blas.Library { return p.base.BLAS }

// Random reports whether the result depends on the seed.
func (p *Plan) Random() bool {
	_, tree := p.linkage()
	return !tree && p.base.Init != TaxonomyMeans ||
		p.options.Algorithm == "mini-batch" // which draws its batches whatever the start
}

// linkage returns the linkage of the tree that the clustering starts from, and whether it
// needs one.
func (p *Plan) linkage() (Linkage, bool) {
	switch p.options.Algorithm {
	case Ward.String():
		return Ward, true
	case Average.String():
		return Average, true
	}
	return Ward, p.base.Init == WardMeans
}

// Neighbours returns the number of neighbours that the vectors of k clusters are averaged
// with.
func (p *Plan) Neighbours(k int) int { return Neighbourhood(p.options.Smooth, len(p.Tags), k) }

// rows returns the vectors that k clusters are made from.
func (p *Plan) rows(k int) (Matrix, error) {
	of := preparedAs{p.options.Join, p.Neighbours(k)}
	if y, made := p.prepared[of]; made {
		return y, nil
	}
	y, err := p.x, error(nil)
	if of.join == "head" {
		y = JoinHeads(y, Names(p.Tags))
	}
	if of.neighbours > 0 {
		y, err = Smooth(y, of.neighbours, p.base.BLAS)
	}
	if err == nil {
		p.prepared[of] = y
	}
	return y, err
}

// tree returns the tree of x that k clusters start from. It is nil if there is none, and
// for known groups and for directions, for which k-means makes its own.
func (p *Plan) tree(ctx context.Context, k int, x Matrix) (*Tree, error) {
	linkage, needed := p.linkage()
	if !needed || p.base.Known != nil || p.options.Algorithm == "spherical" {
		return nil, nil
	}
	of := treeOf{preparedAs{p.options.Join, p.Neighbours(k)}, linkage}
	if p.trees[of] == nil {
		tree, err := Agglomerate(ctx, x, linkage, p.base.BLAS)
		if err != nil {
			return nil, err
		}
		p.trees[of] = tree
	}
	return p.trees[of], nil
}

// Run clusters the tags into k. watch is called after each iteration; it may be nil.
func (p *Plan) Run(ctx context.Context, k int, seed uint64, watch func(Iteration)) (*Result, error) {
	if p.named != nil {
		return p.runNamed(ctx, k, seed, watch)
	}
	if p.options.Algorithm == byTaxonomy {
		return p.runTaxonomy(ctx, k, seed, watch)
	}
	x, err := p.rows(k)
	if err != nil {
		return nil, err
	}
	o := p.base
	o.K, o.Watch = k, watch
	if _, tree := p.linkage(); !tree && o.Init == TaxonomyMeans {
		if o.Start, err = p.taxonomyStart(ctx, k, seed); err != nil {
			return nil, err
		}
		o.NInit = 1
	}
	if o.Tree, err = p.tree(ctx, k, x); err != nil {
		return nil, err
	}
	return p.method(ctx, o, x, seed)
}

// Draft makes the draft of a result of Run. It records the plan's options in origin.
func (p *Plan) Draft(r *Result, origin labels.Origin) (*labels.Draft, error) {
	own, err := r.Of(p.x, p.base.Weights)
	if err != nil {
		return nil, err
	}
	if p.named != nil && p.named.rest != nil {
		p.named.place(own)
	}
	o := p.options
	origin.Center, origin.PCA, origin.Whiten, origin.Smooth = o.Center, o.PCA, o.Whiten, p.Neighbours(len(r.Sizes))
	if p.named != nil && p.named.rest != nil {
		origin.Smooth, origin.Margin = p.named.rest.Neighbours(max(p.named.k, 1)), p.named.margin
	}
	if o.Join == "head" {
		origin.Join = o.Join
	}
	if len(r.Restarts) > 0 {
		origin.Init = o.Init
	}
	return NewDraft(p.Tags, p.x, own, origin)
}

// Without returns the plan of the tags for which leave, called once for each in order, is
// false. Tags of known groups are never left out. SetOptions must follow before Run.
func (p *Plan) Without(leave func(row int) bool) *Plan {
	q := &Plan{prepared: map[preparedAs]Matrix{}, trees: map[treeOf]*Tree{}, items: p.items}
	var rows []int
	known := p.base.Known
	for i := range p.Tags {
		if !leave(i) || known.fixed(i) {
			rows = append(rows, i)
		}
	}
	q.x = NewMatrix(len(rows), p.x.Cols)
	if known != nil {
		q.base.Known = &Known{Names: known.Names}
	}
	if p.named != nil {
		q.named = &named{names: p.named.names, x: p.named.x, margin: p.named.margin}
	}
	for at, i := range rows {
		q.Tags = append(q.Tags, p.Tags[i])
		copy(q.x.Row(at), p.x.Row(i))
		if p.base.Weights != nil {
			q.base.Weights = append(q.base.Weights, p.base.Weights[i])
		}
		if known != nil {
			q.base.Known.Of = append(q.base.Known.Of, known.Of[i])
		}
	}
	return q
}
