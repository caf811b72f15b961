package train

import (
	"context"
	"errors"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/config"
	"hgld/train/device/cpu"
	"hgld/train/input"
	"hgld/train/testing/places"
)

// sparse is drawings of which a random batch seldom has two of a place.
func sparse(steps int) (config.Config, *places.Set) {
	c, d := tiny(steps)
	d.Forms, d.PerForm, d.Views = 4, 16, 4
	c.Sampler.Name, c.Sampler.Batch = "random", 8
	return c, d
}

func TestStepsWithoutAPositiveHaveNoLoss(t *testing.T) {
	for _, l := range []config.Loss{
		{Named: config.Named{Name: "smooth-ap"}, Preset: "paper"},
		{Named: config.Named{Name: "smooth-ap"}, Preset: "released"}, // the query is its own positive there
		{Named: config.Named{Name: "triplet"}, Preset: "paper"},
		{Named: config.Named{Name: "roadmap"}, Preset: "paper"},
	} {
		c, d := sparse(40)
		c.Loss = l
		r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(2)})
		must.Do(t, err)
		want := map[int]bool{} // step -> a query of its batch has a positive
		for w, err := range input.Epochs(r.resolved.Sampler, r.paths, c.Seed, input.Position{}) {
			if err != nil || len(want) == c.Steps {
				break
			}
			seen := map[int32]int{}
			for _, row := range w.Rows {
				seen[r.paths[row][0]]++
			}
			want[len(want)+1] = len(seen) < len(w.Rows)
		}
		without := 0
		for e, err := range r.Events(context.Background()) {
			must.Do(t, err)
			if e.Kind != Stepped {
				continue
			}
			if (e.Loss != nil) != want[e.Step] {
				t.Errorf("%s, %s: step %d has a loss: %v, want %v", l.Name, l.Preset, e.Step, e.Loss != nil,
					want[e.Step])
			}
			if e.Loss == nil {
				without++
			}
		}
		if err := r.Close(); err != nil || without == 0 || without == c.Steps {
			t.Errorf("%s, %s: %d of %d steps without a positive (%v)", l.Name, l.Preset, without, c.Steps, err)
		}
	}
}

// Proxies are positives of every query, and negatives alone have a contrastive loss.
func TestStepsWithoutAPositiveHaveALossOfProxiesOrNegatives(t *testing.T) {
	for _, name := range []string{"nsm", "calibration"} {
		c, d := sparse(12)
		c.Loss.Name = name
		losses(mustTrain(t, c, Data{Train: d}, Options{})) // panics where a loss is missing
	}
}

// With a memory of all images every query finds the others of its place there, once
// they have been seen.
func TestMemoryGivesPositives(t *testing.T) {
	for _, first := range []bool{false, true} {
		c, d := sparse(200)
		c.Memory = config.CrossBatch{Unique: true, First: first}
		missing, last := 0, false
		for _, e := range mustTrain(t, c, Data{Train: d}, Options{}) {
			if e.Kind == Stepped {
				if last = e.Loss != nil; !last {
					missing++
				}
			}
		}
		if missing == 0 || missing > 20 || !last {
			t.Errorf("first %v: %d steps without a positive, the last with one: %v", first, missing, last)
		}
	}
}

func TestLossWithoutPositivesIsRefused(t *testing.T) {
	for _, name := range []string{"sup-ap", "triplet", "calibration", "fast-ap", "blackbox-ap", "happier"} {
		c, d := tiny(4)
		c.Loss.Name, c.Sampler.Name, d.Views = name, "random", 1
		if name == "happier" { // which compares all levels
			c.Sampler.Batch = 1
		}
		for what, prepare := range map[string]func() error{
			"plan": func() error { _, err := Plan(c, Data{Train: d}); return err },
			"run":  func() error { _, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)}); return err },
		} {
			err := prepare()
			if !errors.As(err, new(*config.Error)) || !strings.Contains(err.Error(), "loss.name is "+name) ||
				!strings.Contains(err.Error(), "at least 2 images") {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

// relabelled is a data set with other labels.
type relabelled struct {
	input.Dataset
	labels func(i int, p labels.Path) labels.Path
}

func (d relabelled) Labels(i int) labels.Path { return d.labels(i, d.Dataset.Labels(i)) }

// A third of the finest classes has no parent.
func withoutParents(i int, p labels.Path) labels.Path {
	if p[0]%3 == 0 {
		return labels.Path{p[0], -1}
	}
	return p
}

func TestTrainingKeepsImagesWithoutParents(t *testing.T) {
	for _, name := range []string{"happier", "roadmap", "sum-nsm", "triplet"} {
		c, d := tiny(3)
		c.Loss.Name = name
		set := relabelled{d, withoutParents}
		events, err := trainAll(t, context.Background(), c, Data{Train: set}, Options{Backend: cpu.New(1)})
		if err != nil || len(events) == 0 {
			t.Errorf("%s: %d events, %v", name, len(events), err)
		}
	}
}

func TestTrainingRefusesWhatSaysNothing(t *testing.T) {
	for want, c := range map[string]struct {
		loss   string
		labels func(i int, p labels.Path) labels.Path
	}{
		"has no class at any level": {"happier", func(i int, p labels.Path) labels.Path {
			if i == 5 {
				return labels.Path{-1, -1}
			}
			return p
		}},
		"no item has a class of level": {"happier", func(_ int, p labels.Path) labels.Path {
			return labels.Path{p[0], -1}
		}},
		"csl needs the class of every item at every level, and 36 of 96 lack one": {"csl", withoutParents},
	} {
		cfg, d := tiny(1)
		cfg.Loss.Name = c.loss
		_, err := New(cfg, Data{Train: relabelled{d, c.labels}}, Options{Backend: cpu.New(1)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// A batch among the settings of the sampler would be ignored.
func TestSamplersOwnBatchIsRefused(t *testing.T) {
	c, d := tiny(4)
	c.Sampler.Settings = map[string]any{"batch": 8}
	for what, err := range map[string]error{
		"check": c.Check(),
		"run":   func() error { _, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)}); return err }(),
	} {
		if !errors.As(err, new(*config.Error)) || !strings.Contains(err.Error(),
			"sampler.settings.batch is 8: want sampler.batch alone") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Queries without any negative teach a ranking nothing.
func TestBatchesOfOneClassAreRefused(t *testing.T) {
	c, d := tiny(4)
	c.Loss.Name, c.Sampler.Name, c.Sampler.Batch, c.Sampler.M = "smooth-ap", "m-per-class", 4, 4
	d.Views = 4
	_, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)})
	if !errors.As(err, new(*config.Error)) || !strings.Contains(err.Error(), "sampler.m below sampler.batch") {
		t.Errorf("%v", err)
	}
}
