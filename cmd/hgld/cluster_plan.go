package main

import (
	"fmt"
	"os"

	"hgld/cluster"
	"hgld/internal/blas"
	"hgld/internal/registry"
	"hgld/labels"
)

// clusterPlan is what a run of stage 2 works on: tags, their vectors made ready,
// and how they are clustered.
type clusterPlan struct {
	tags   []labels.DraftTag
	made   cluster.VectorsOrigin
	x      cluster.Matrix
	method cluster.Method
	base   cluster.KMeans

	smoothed map[int]cluster.Matrix // x over so many neighbours
	trees    map[treeOf]*cluster.Tree
}

// treeOf says what a tree is of: one serves all numbers of clusters.
type treeOf struct {
	neighbours int
	linkage    cluster.Linkage
}

// mostTreeRows is how many rows have 800 MB of distances, four bytes for each pair.
const mostTreeRows = 20000

// planCluster checks the settings, before anything long begins, and reads what
// they name; k is the number of clusters if there is one to check. Vectors that are
// not there yet are written if they are to be kept.
func planCluster(j *job, s *clusterSettings, k int, keep bool) (*clusterPlan, error) {
	p, err := &clusterPlan{smoothed: map[int]cluster.Matrix{}, trees: map[treeOf]*cluster.Tree{}}, error(nil)
	if err := p.choose(s); err != nil {
		return nil, err
	}
	if p.tags, err = distinctTags(j, s.Tags); err != nil {
		return nil, err
	}
	if k > len(p.tags) {
		return nil, usagef("k is %d, and there are only %s to cluster; lower --k", k, count(len(p.tags), "tag"))
	}
	if err := p.checkTree(s); err != nil {
		return nil, err
	}
	if err := p.count(s); err != nil {
		return nil, err
	}
	if p.base.Weights, err = p.weights(s.Weigh); err != nil {
		return nil, err
	}
	if err := p.keepGroups(j, s, k); err != nil {
		return nil, err
	}
	if p.x, p.made, err = vectorsOf(j, s, p.tags, keep); err != nil {
		return nil, err
	}
	return p, p.prepare(s)
}

// choose looks up how is clustered.
func (p *clusterPlan) choose(s *clusterSettings) error {
	var err error
	if p.method, err = cluster.Methods.Get("algorithm", s.Algorithm); err != nil {
		return withCode(exitUsage, err)
	}
	init, err := cluster.Inits.Get("init", s.Init)
	if err != nil {
		return withCode(exitUsage, err)
	}
	lib, err := blas.Default()
	if err != nil {
		return withCode(exitUsage, err)
	}
	switch {
	case s.Smooth < 0:
		return usagef("--smooth is %d; want a number of neighbours, or 0", s.Smooth)
	case s.PCA < 0:
		return usagef("--pca is %d; want a number of principal components, or 0 for all", s.PCA)
	case s.NInit < 1:
		return usagef("--n-init is %d; want a number of starts, from 1 up", s.NInit)
	case s.Whiten && s.PCA == 0:
		return usagef("--whiten is of principal components; say how many with --pca")
	}
	p.base.NInit, p.base.MaxIter, p.base.Tol = s.NInit, s.MaxIter, s.Tol
	p.base.Spherical, p.base.Init, p.base.BLAS = s.Spherical, init, lib
	return nil
}

// prepare makes the vectors ready.
func (p *clusterPlan) prepare(s *clusterSettings) error {
	if s.Center {
		p.x = cluster.Center(p.x)
	}
	if s.PCA > 0 {
		pca, err := cluster.FitPCA(p.x, s.PCA)
		if err != nil {
			return withCode(exitUsage, err)
		}
		p.x = pca.Project(p.x, s.Whiten)
	}
	return nil
}

// linkage is that of the tree which clustering begins with, if it does.
func (p *clusterPlan) linkage(s *clusterSettings) (cluster.Linkage, bool) {
	switch s.Algorithm {
	case cluster.Ward.String():
		return cluster.Ward, true
	case cluster.Average.String():
		return cluster.Average, true
	}
	return cluster.Ward, p.base.Init == cluster.WardMeans
}

// checkTree refuses a tree that does not fit in memory.
func (p *clusterPlan) checkTree(s *clusterSettings) error {
	if _, needed := p.linkage(s); !needed || len(p.tags) <= mostTreeRows {
		return nil
	}
	return withHint(usagef("%s are too many for a tree of all pairs, %d at most", count(len(p.tags), "tag"), mostTreeRows),
		"--algorithm lloyd --init greedy-k-means++ needs none")
}

// neighbours is how many neighbours k clusters are smoothed over.
func (p *clusterPlan) neighbours(s *clusterSettings, k int) int {
	return cluster.Neighbourhood(s.Smooth, len(p.tags), k)
}

// rows returns what k clusters are made of.
func (p *clusterPlan) rows(s *clusterSettings, k int) (cluster.Matrix, error) {
	near := p.neighbours(s, k)
	if near == 0 {
		return p.x, nil
	}
	if _, made := p.smoothed[near]; !made {
		y, err := cluster.Smooth(p.x, near, p.base.BLAS)
		if err != nil {
			return cluster.Matrix{}, err
		}
		p.smoothed[near] = y
	}
	return p.smoothed[near], nil
}

// tree returns the tree of x that k clusters begin with, or nil: that of known
// groups or of directions is k-means' own affair.
func (p *clusterPlan) tree(j *job, s *clusterSettings, k int, x cluster.Matrix) (*cluster.Tree, error) {
	linkage, needed := p.linkage(s)
	if !needed || p.base.Known != nil || s.Spherical || s.Algorithm == "spherical" {
		return nil, nil
	}
	of := treeOf{p.neighbours(s, k), linkage}
	if p.trees[of] == nil {
		tree, err := cluster.Agglomerate(j.ctx, x, linkage, p.base.BLAS)
		if err != nil {
			return nil, err
		}
		p.trees[of] = tree
	}
	return p.trees[of], nil
}

// keepGroups reads the groups of an earlier curation.
func (p *clusterPlan) keepGroups(j *job, s *clusterSettings, k int) error {
	if s.Given == "" {
		return nil
	}
	h, err := readHierarchy(s.Given)
	if err != nil {
		return err
	}
	if p.base.Known = cluster.KnownFrom(p.tags, h); p.base.Known == nil {
		return fmt.Errorf("%s: none of its groups has a tag of %s", s.Given, s.Tags)
	}
	groups, known := len(p.base.Known.Names), 0
	for _, g := range p.base.Known.Of {
		if g >= 0 {
			known++
		}
	}
	if k > 0 && k < groups {
		return usagef("k is %d, and %s has %s with a tag here; raise --k to that or more", k, s.Given, count(groups, "group"))
	}
	j.say("%s of %s keep their groups; %s to place", count(known, "tag"), count(groups, "group"), count(len(p.tags)-known, "tag"))
	return nil
}

// keep returns the plan of the tags that are kept; those of known groups all are.
func (p *clusterPlan) keep(kept func(row int) bool) *clusterPlan {
	q := &clusterPlan{made: p.made, smoothed: map[int]cluster.Matrix{}, trees: map[treeOf]*cluster.Tree{}}
	var rows []int
	known := p.base.Known
	for i := range p.tags {
		if kept(i) || known != nil && known.Of[i] >= 0 {
			rows = append(rows, i)
		}
	}
	q.x = cluster.NewMatrix(len(rows), p.x.Cols)
	if known != nil {
		q.base.Known = &cluster.Known{Names: known.Names}
	}
	for at, i := range rows {
		q.tags = append(q.tags, p.tags[i])
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

// count adds up the images of each tag.
func (p *clusterPlan) count(s *clusterSettings) error {
	if len(s.Counts) == 0 {
		return nil
	}
	records, err := readTags(s.Tags)
	if err != nil {
		return err
	}
	for _, path := range s.Counts {
		images, err := imagesOf(path)
		if err != nil {
			return labelHint(err, path)
		}
		cluster.CountImages(p.tags, records, images)
	}
	return nil
}

// weights are what the tags count by; at least 1 each.
func (p *clusterPlan) weights(by string) ([]float64, error) {
	if by == "tags" {
		return nil, nil
	}
	weights, images := make([]float64, len(p.tags)), 0
	for i, t := range p.tags {
		images += t.Images
		switch by {
		case "landmarks":
			weights[i] = float64(max(t.Landmarks, 1))
		case "images":
			weights[i] = float64(max(t.Images, 1))
		default:
			return nil, withCode(exitUsage, registry.Unknown("weight", by, []string{"tags", "landmarks", "images"}))
		}
	}
	if by == "images" && images == 0 {
		return nil, usagef("--weigh images needs lists of images that count some: --counts train.csv")
	}
	return weights, nil
}

// run clusters into k.
func (p *clusterPlan) run(j *job, s *clusterSettings, k int, seed uint64, label string) (*cluster.Result, error) {
	starts := max(s.NInit, 1)
	if _, tree := p.linkage(s); tree {
		starts = 1 // nothing is drawn
	}
	bar := j.progress(label, starts)
	defer bar.end()
	x, err := p.rows(s, k)
	if err != nil {
		return nil, err
	}
	o := p.base
	o.K = k
	if o.Tree, err = p.tree(j, s, k, x); err != nil {
		return nil, err
	}
	o.Watch = func(it cluster.Iteration) {
		bar.set(it.Restart, fmt.Sprintf("iteration %d: inertia %.4g", it.Iteration, it.Inertia))
	}
	return p.method(j.ctx, o, x, seed)
}

// imagesOf reads a list of images and counts those of each landmark.
func imagesOf(path string) (map[labels.LandmarkKey]int, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return labels.ReadImageCounts(f, path, labels.ReadOptions{})
}
