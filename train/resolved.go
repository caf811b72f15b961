package train

import (
	"fmt"
	"maps"

	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/labels"
	"hgld/train/backbone"
	"hgld/train/loss"
	"hgld/train/sample"
)

// Check checks a configuration as New does, but without data. counts is the number of classes of
// each level, finest first. If it is given, the loss is also made, for a tree of that many
// classes. Check returns the first mistake as a *ConfigError.
func (c Config) Check(counts ...int) error {
	p, err := c.resolve()
	if err != nil || len(counts) == 0 {
		return err
	}
	dim := c.Model.Dim
	if dim == 0 {
		dim = p.backbone.Facts().Channels
	}
	facts := loss.Facts{Classes: counts, Dim: dim, Paths: anyTree(counts), Batch: p.sampler.Size(), Memory: c.Memory.Size}
	if s, ok := p.sampler.(sample.Grouped); ok {
		facts.PerClass = s.PerClass()
	}
	if _, err := p.loss.New(facts); err != nil {
		return &ConfigError{fmt.Errorf("loss: %s: %w", c.Loss.Name, err)}
	}
	return nil
}

// anyTree returns a path for every finest class, so that each level has its number of classes.
func anyTree(counts []int) []labels.Path {
	paths := make([]labels.Path, counts[0])
	for i := range paths {
		paths[i] = labels.Path{int32(i)}
		for l := 1; l < len(counts); l++ {
			below := int(paths[i][l-1])
			paths[i] = append(paths[i], int32(below*counts[l]/counts[l-1]))
		}
	}
	return paths
}

// Backbone returns the backbone of a configuration with its settings.
func (c Config) Backbone() (backbone.Spec, error) {
	p, err := c.resolve()
	return p.backbone, err
}

// pick returns the table entry that n names, with n's settings applied to a copy. kind names what
// the table holds and where is the key of n, both for messages.
func pick[T any](table registry.Table[T], kind, where string, n Named) (T, error) {
	value, err := table.Get(kind, n.Name)
	if err != nil {
		return value, fmt.Errorf("%s.name: %w", where, err)
	}
	if len(n.Settings) == 0 {
		return value, nil
	}
	changed, err := settings.Apply(value, n.Settings)
	if err != nil {
		return value, fmt.Errorf("%s.settings: %s: %w", where, n.Name, err)
	}
	return changed.(T), nil
}

// with returns a copy of values with one key set.
func with(values map[string]any, key string, value any) map[string]any {
	out := maps.Clone(values)
	if out == nil {
		out = map[string]any{}
	}
	out[key] = value
	return out
}
