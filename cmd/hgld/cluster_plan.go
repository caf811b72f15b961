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
}

// planCluster checks the settings, before anything long begins, and reads what
// they name; k is the number of clusters if there is one to check.
func planCluster(j *job, s *clusterSettings, k int) (*clusterPlan, error) {
	p, err := &clusterPlan{}, error(nil)
	if p.method, err = cluster.Methods.Get("algorithm", s.Algorithm); err != nil {
		return nil, withCode(exitUsage, err)
	}
	init, err := cluster.Inits.Get("init", s.Init)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	lib, err := blas.Default()
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	p.base = cluster.KMeans{NInit: s.NInit, MaxIter: s.MaxIter, Tol: s.Tol, Spherical: s.Spherical, Init: init, BLAS: lib}
	if p.tags, err = distinctTags(j, s.Tags); err != nil {
		return nil, err
	}
	if k > len(p.tags) {
		return nil, usagef("k is %d, and there are only %s to cluster; lower --k", k, count(len(p.tags), "tag"))
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
	if p.x, p.made, err = vectorsOf(j, s, p.tags); err != nil {
		return nil, err
	}
	if s.Center {
		p.x = cluster.Center(p.x)
	}
	if s.PCA > 0 {
		pca, err := cluster.FitPCA(p.x, s.PCA)
		if err != nil {
			return nil, withCode(exitUsage, err)
		}
		p.x = pca.Project(p.x, false)
	}
	return p, nil
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
	bar := j.progress(label, max(s.NInit, 1))
	defer bar.end()
	o := p.base
	o.K = k
	o.Watch = func(it cluster.Iteration) {
		bar.set(it.Restart, fmt.Sprintf("iteration %d: inertia %.4g", it.Iteration, it.Inertia))
	}
	return p.method(j.ctx, o, p.x, seed)
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
