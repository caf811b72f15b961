package train

import (
	"context"
	"fmt"

	"hgld/internal/registry"
	"hgld/labels"
	"hgld/train/backbone"
	"hgld/train/device"
	"hgld/train/input"
	"hgld/train/metric"
	"hgld/train/retrieval"
)

// ofVectors reports whether the network reads vectors.
func (c *Config) ofVectors() bool { return c.Model.Backbone.Name == backbone.VectorsName }

// backbones returns the table in which the name of the backbone is looked up.
func (c *Config) backbones() registry.Table[backbone.Spec] {
	if c.ofVectors() {
		return backbone.OfVectors
	}
	return backbone.All
}

// vectorWidth returns the width of the vectors that the network reads, or 0 if it reads images.
func (c *Config) vectorWidth() int {
	if !c.ofVectors() {
		return 0
	}
	spec, err := pick(backbone.OfVectors, "backbone", "model.backbone", c.Model.Backbone)
	if err != nil {
		return 0
	}
	return spec.(backbone.Vectors).Width
}

// rowBytes returns the bytes of one input of the network.
func (c *Config) rowBytes() int { return input.RowBytes(c.vectorWidth(), c.Input.Size) }

// fitVectors selects the network on vectors if the data are vectors, and sets its width.
func (c *Config) fitVectors(d input.Dataset) error {
	v, is := input.AsVectored(d)
	switch {
	case !is && c.ofVectors():
		return fmt.Errorf("model.backbone is vectors, but the data are images: set embeddings to a file of vectors")
	case !is:
		return nil
	case !c.ofVectors() && c.Model.Backbone.Name != Default().Model.Backbone.Name:
		return fmt.Errorf("model.backbone is %s, which reads images, but the data are vectors: remove model.backbone",
			c.Model.Backbone.Name)
	}
	c.Model.Backbone.Name, c.Model.Pooling = backbone.VectorsName, "none"
	if c.vectorWidth() == 0 {
		c.Model.Backbone.Settings = with(c.Model.Backbone.Settings, "width", v.Width())
	}
	if w := c.vectorWidth(); w != v.Width() && w != 0 {
		return fmt.Errorf("the vectors have %d numbers, but model.backbone.settings.width is %d: want vectors of the same "+
			"model", v.Width(), w)
	}
	if hidden := c.Model.Backbone.Settings["hidden"]; c.Model.Dim == 0 && (hidden == nil || hidden == 0) {
		return fmt.Errorf("model.dim is 0 and there is no hidden layer, so nothing would be trained: set model.dim")
	}
	return nil
}

// MeasureVectors evaluates the vectors themselves, scaled to unit length, with the metrics of c.
// It is the baseline that a head has to improve. further are further parents of the classes; it may be nil.
func MeasureVectors(ctx context.Context, b device.Backend, d input.Dataset, c Config,
	further []labels.FurtherParent) (*retrieval.Result, error) {
	v, ok := input.AsVectored(d)
	if !ok {
		return nil, fmt.Errorf("train: the data are images, want vectors")
	}
	metrics, err := metric.ParseSet(c.Run.Metrics)
	if err != nil {
		return nil, &ConfigError{fmt.Errorf("run.metrics: %w", err)}
	}
	e := &retrieval.Evaluation{Levels: d.Levels(), Metrics: metrics, Threads: c.Run.Threads}
	if e.Truth, err = TruthOf(further, d, nil); err != nil {
		return nil, err
	}
	if e.Query.Vectors, err = retrieval.Upload(b, vectorRows{v}, true); err != nil {
		return nil, err
	}
	defer b.Free(e.Query.Vectors.Buf)
	for i := range d.Len() {
		e.Query.Labels, e.Query.IDs = append(e.Query.Labels, d.Labels(i)), append(e.Query.IDs, d.ID(i))
		e.Self = append(e.Self, int32(i))
	}
	e.Gallery = e.Query
	return retrieval.Evaluate(ctx, b, e)
}

// vectorRows reads the vectors of a data set as if they were a file.
type vectorRows struct{ of input.Vectored }

// Rows returns the number of rows and columns.
func (r vectorRows) Rows() (rows, cols int) { return r.of.Len(), r.of.Width() }

// ReadRows fills dst with the rows from lo on.
func (r vectorRows) ReadRows(dst []float32, lo int) error {
	for w := r.of.Width(); len(dst) > 0; lo++ {
		copy(dst[:w], r.of.Vector(lo))
		dst = dst[w:]
	}
	return nil
}
