package config

import (
	"fmt"

	"hgld/internal/registry"
	"hgld/train/backbone"
	"hgld/train/input"
)

// OfVectors reports whether the network reads vectors.
func (c *Config) OfVectors() bool { return c.Model.Backbone.Name == backbone.VectorsName }

// Backbones returns the table in which the name of the backbone is looked up.
func (c *Config) Backbones() registry.Table[backbone.Spec] {
	if c.OfVectors() {
		return backbone.OfVectors
	}
	return backbone.All
}

// VectorWidth returns the width of the vectors that the network reads, or 0 if it reads images.
func (c *Config) VectorWidth() int {
	if !c.OfVectors() {
		return 0
	}
	spec, err := Select(backbone.OfVectors, "backbone", "model.backbone", c.Model.Backbone)
	if err != nil {
		return 0
	}
	return spec.(backbone.Vectors).Width
}

// rowBytes returns the bytes of one input of the network.
func (c *Config) rowBytes() int { return input.RowBytes(c.VectorWidth(), c.Input.Size) }

// FitVectors selects the network on vectors if the data are vectors, and sets its width.
func (c *Config) FitVectors(d input.Dataset) error {
	v, is := input.AsVectored(d)
	switch {
	case !is && c.OfVectors():
		return fmt.Errorf("model.backbone is vectors, but the data are images: set embeddings to a file of vectors")
	case !is:
		return nil
	case !c.OfVectors() && c.Model.Backbone.Name != Default().Model.Backbone.Name:
		return fmt.Errorf("model.backbone is %s, which reads images, but the data are vectors: remove model.backbone",
			c.Model.Backbone.Name)
	}
	c.Model.Backbone.Name, c.Model.Pooling = backbone.VectorsName, "none"
	if c.VectorWidth() == 0 {
		c.Model.Backbone.Settings = WithSetting(c.Model.Backbone.Settings, "width", v.Width())
	}
	if w := c.VectorWidth(); w != v.Width() && w != 0 {
		return fmt.Errorf("the vectors have %d numbers, but model.backbone.settings.width is %d: want vectors of the same "+
			"model", v.Width(), w)
	}
	if hidden := c.Model.Backbone.Settings["hidden"]; c.Model.Dim == 0 && (hidden == nil || hidden == 0) {
		return fmt.Errorf("model.dim is 0 and there is no hidden layer, so nothing would be trained: set model.dim")
	}
	return nil
}
