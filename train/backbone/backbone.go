// Package backbone holds the networks that turn pixels into features, one file
// each, and the retrieval net around them: backbone, pooling, normalisation,
// projection, unit length.
package backbone

import (
	"hgld/internal/registry"
	"hgld/train/grad"
	"hgld/train/nn"
)

// Backbone turns images [N,H,W,4], the fourth channel zero, into features
// [N,H',W',C], or into one vector [N,C] for each image, which is not pooled.
type Backbone interface {
	Forward(t *grad.Tape, x *grad.Var) *grad.Var
	Channels() int
}

// Spec is the description of a backbone: its exported fields are the settings.
type Spec interface {
	// Build declares the parameters in c.
	Build(c nn.Scope, o Options) Backbone
}

// Options are what backbones have in common.
type Options struct {
	// FreezeNorm normalises by the running statistics in training too, as one does
	// with pretrained weights; γ and β are trained all the same.
	FreezeNorm bool
}

// All lists the backbones with their defaults.
var All = registry.Table[Spec]{
	{Name: "convnet", About: "four convolutions for small images, seconds to train on a CPU",
		Value: Convnet{Widths: []int{32, 64, 128, 128}, Strides: []int{2, 2, 2, 1}}},
}
