package train

import (
	"context"
	"strings"
	"testing"

	"hgld/labels"
	"hgld/train/device/cpu"
	"hgld/train/input"
)

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
		"no item has a class of level":                                            {"happier", func(_ int, p labels.Path) labels.Path { return labels.Path{p[0], -1} }},
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
