package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/labels"
	"hgld/train/backbone"
	"hgld/train/input"
	"hgld/train/loss"
	"hgld/train/sample"
)

// Check checks a configuration as New does, but without data. counts is the number of classes of
// each level, finest first. If it is given, the loss is also made, for a tree of that many
// classes. Check returns the first mistake as a *Error.
func (c Config) Check(counts ...int) error {
	p, err := c.Resolve()
	if err != nil || len(counts) == 0 {
		return err
	}
	dim := c.Model.Dim
	if dim == 0 {
		dim = p.Backbone.Facts().Channels
	}
	facts := loss.Facts{Classes: counts, Dim: dim, Paths: anyTree(counts), Batch: p.Sampler.Size(), Memory: c.Memory.Size}
	if s, ok := p.Sampler.(sample.Grouped); ok {
		facts.PerClass = s.PerClass()
	}
	if _, err := p.Loss.New(facts); err != nil {
		return &Error{fmt.Errorf("loss: %s: %w", c.Loss.Name, err)}
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
	p, err := c.Resolve()
	return p.Backbone, err
}

// Select returns the table entry that n names, with n's settings applied to a copy. kind names what
// the table holds and where is the key of n, both for messages.
func Select[T any](table registry.Table[T], kind, where string, n Named) (T, error) {
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

// WithSetting returns a copy of values with one key set.
func WithSetting(values map[string]any, key string, value any) map[string]any {
	out := maps.Clone(values)
	if out == nil {
		out = map[string]any{}
	}
	out[key] = value
	return out
}

// projection selects how principal components become a projection.
type projection struct{ Whiten bool }

// projections lists the initial projections other than the random one.
var projections = registry.Table[projection]{
	{Name: "pca", About: "principal components of the training images' features", Value: projection{}},
	{Name: "pca-whitening", About: "pca, each component divided by its deviation", Value: projection{Whiten: true}},
}

// Values of model.projection beside those of projections. An empty one is random.
const (
	ProjectionAuto   = "auto"
	ProjectionRandom = "random"
)

// fitted reports whether the initial projection is named, and is not random.
func (a *Architecture) fitted() bool {
	return !slices.Contains([]string{"", ProjectionAuto, ProjectionRandom}, a.Projection)
}

// ResolveProjection replaces auto and random by what they mean for a training on n rows. auto is pca for a new linear
// head on vectors, if they have as many components as it has outputs.
func (c *Config) ResolveProjection(n int) {
	if c.Model.fitted() {
		return
	}
	if c.Model.FitOn > 0 {
		n = min(n, c.Model.FitOn)
	}
	hidden := c.Model.Backbone.Settings["hidden"]
	linear := c.OfVectors() && c.From == "" && (hidden == nil || hidden == 0)
	auto := c.Model.Projection == ProjectionAuto
	c.Model.Projection = ""
	if k := c.Model.Dim; auto && linear && 0 < k && k <= min(n-1, c.VectorWidth()) {
		c.Model.Projection = "pca"
	}
}

// Published is a network with the weights that were published for it, without a training: its architecture
// and the preprocessing of its images.
type Published struct {
	Input input.Settings `json:"input"` // images
	Model Architecture   `json:"model"` // network, without the path of its weights
}

// PublishedDefault returns the settings of a network whose embedding is what its library calls the features
// of an image: of a ResNet the average of its last layer, of a transformer its vector. It computes in float32.
func PublishedDefault() Config {
	c := Default()
	c.Model.Pooling, c.Model.Standard, c.Model.Dim, c.Model.Precision = "", "none", 0, PrecisionFloat32
	return c
}

// Complete sets the pooling that the backbone needs if none is set.
func (c *Config) Complete() error {
	spec, err := Select(c.Backbones(), "backbone", "model.backbone", c.Model.Backbone)
	if err != nil {
		return &Error{err}
	}
	if c.Model.Pooling == "" {
		c.Model.Pooling = "avg"
		if spec.Facts().Vector {
			c.Model.Pooling = "none"
		}
	}
	return nil
}

// Text returns the settings in JSON, to compare and to hash.
func (p *Published) Text() string {
	if p == nil {
		return ""
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // of texts and finite numbers
	}
	return string(text)
}
