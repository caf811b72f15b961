package main

import (
	"errors"
	"fmt"
	"io/fs"

	"hgld/cluster"
	"hgld/labels"
)

// options returns the settings of the clustering itself.
func (s *clusterSettings) options() cluster.Options {
	return cluster.Options{Algorithm: s.Algorithm, Init: s.Init, NInit: s.NInit, MaxIter: s.MaxIter,
		Center: s.Center, PCA: s.PCA, Whiten: s.Whiten, Join: s.Join, Smooth: s.Smooth}
}

// planCluster checks the settings before any long computation, and reads the files that
// they name. k is the number of clusters, or 0 if it is not known yet. Missing vectors
// are computed, and written if keep is set.
func planCluster(j *job, s *clusterSettings, k int, keep bool) (*cluster.Plan, cluster.VectorsOrigin, error) {
	fail := func(err error) (*cluster.Plan, cluster.VectorsOrigin, error) {
		return nil, cluster.VectorsOrigin{}, err
	}
	if err := s.options().Check(); err != nil {
		return fail(err)
	}
	tags, err := distinctTags(j, s.Tags)
	if err != nil {
		return fail(err)
	}
	p, err := cluster.NewPlan(tags, s.options(), k)
	if err != nil {
		return fail(err)
	}
	p.UseItems(func() (*labels.Items, error) { return readClassItems(s.items) })
	if err := countImages(p.Tags, s); err != nil {
		return fail(err)
	}
	if err := p.WeighBy(s.Weigh); err != nil {
		return fail(err)
	}
	if err := keepGroups(j, p, s, k); err != nil {
		return fail(err)
	}
	x, made, err := tagVectors(j, s, p.Tags, keep)
	if err != nil {
		return fail(err)
	}
	if err := p.SetVectors(x); err != nil {
		return fail(err)
	}
	return p, made, nameGroups(j, p, s, made)
}

// usedItems returns the file of items if the settings use it, otherwise "".
func (s *clusterSettings) usedItems() string {
	if s.Algorithm == "taxonomy" || s.Init == "taxonomy" && s.Algorithm != "ward" && s.Algorithm != "average" {
		return s.items
	}
	return ""
}

// readClassItems reads the items of stage 1.
func readClassItems(path string) (*labels.Items, error) {
	items, err := labels.OpenItems(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = withHint(err, "`hgld scrape run --source api` writes it; pages have no classes")
	}
	if err != nil {
		return nil, err
	}
	return labels.NewItems(items), nil
}

// keepGroups reads the groups of an earlier curation.
func keepGroups(j *job, p *cluster.Plan, s *clusterSettings, k int) error {
	if s.KeepGroups == "" {
		return nil
	}
	h, err := labels.OpenHierarchy(s.KeepGroups)
	if err != nil {
		return err
	}
	groups, known, err := p.KeepGroups(h, k)
	if err != nil {
		return fmt.Errorf("%s: %w", s.KeepGroups, err)
	}
	if groups == 0 {
		return fmt.Errorf("%s: none of its groups contains a tag of %s", s.KeepGroups, s.Tags)
	}
	j.log("%s of %s keep their groups; %s to place", count(known, "tag"), count(groups, "group"),
		count(len(p.Tags)-known, "tag"))
	return nil
}

// countImages counts the images of each tag.
func countImages(tags []labels.DraftTag, s *clusterSettings) error {
	if len(s.Counts) == 0 {
		return nil
	}
	records, err := labels.OpenTags(s.Tags)
	if err != nil {
		return err
	}
	for _, path := range s.Counts {
		images, err := labels.OpenImageCounts(path, labels.ReadOptions{})
		if err != nil {
			return labelHint(err, path)
		}
		cluster.CountImages(tags, records, images)
	}
	return nil
}

// clusterProgress shows the progress of a clustering. end removes the display.
func clusterProgress(j *job, label string, starts int) (watch func(cluster.Iteration), end func()) {
	bar := j.progress(label, max(starts, 1))
	return func(it cluster.Iteration) {
		bar.Set(it.Restart, fmt.Sprintf("iteration %d: inertia %.4g", it.Iteration, it.Inertia))
	}, bar.End
}
