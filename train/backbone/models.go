package backbone

import (
	"fmt"

	"hgld/internal/registry"
	"hgld/train/nn"
)

// Model is a published retrieval network: a file of SupRank's config/model.
type Model struct {
	Released   string // name of that file
	Backbone   string // entry of All
	Pooling    string // entry of Poolings
	Standard   string // entry of Standards
	Dim        int    // size of the projection; 0: none
	FreezeNorm bool   // BatchNorm uses its running statistics in training too
	Pretrained bool   // starts from published weights
	PCA        bool   // the projection starts from principal components
}

// Models lists the networks of the papers' tables.
var Models = registry.Table[Model]{
	{Name: "resnet-ln", About: "ResNet-50, mean, LayerNorm: stanford products, iNaturalist, CUB",
		Value: Model{Released: "resnet_ln", Backbone: "resnet50", Pooling: "avg", Standard: "layernorm", Dim: 512,
			FreezeNorm: true, Pretrained: true}},
	{Name: "resnet-ln-gem", About: "ResNet-50, GeM, LayerNorm: the default of the released code",
		Value: Model{Released: "resnet_ln_gem", Backbone: "resnet50", Pooling: "gem", Standard: "layernorm", Dim: 512,
			FreezeNorm: true, Pretrained: true}},
	{Name: "resnet-ln-max", About: "ResNet-50, maximum, LayerNorm",
		Value: Model{Released: "resnet_ln_max", Backbone: "resnet50", Pooling: "max", Standard: "layernorm", Dim: 512,
			FreezeNorm: true, Pretrained: true}},
	{Name: "resnet-101-lm", About: "ResNet-101, GeM, whitening by PCA: landmarks",
		Value: Model{Released: "resnet_101_LM", Backbone: "resnet101", Pooling: "gem", Standard: "l2", Dim: 2048,
			FreezeNorm: true, Pretrained: true, PCA: true}},
	{Name: "dyml-resnet34", About: "ResNet-34 from scratch: DyML-Vehicle and DyML-Animal",
		Value: Model{Released: "dyml_resnet34", Backbone: "resnet34", Pooling: "avg", Standard: "layernorm", Dim: 512}},
	{Name: "dyml-resnet34-product", About: "ResNet-34: DyML-Product",
		Value: Model{Released: "dyml_resnet34_product", Backbone: "resnet34", Pooling: "avg", Standard: "layernorm", Dim: 512,
			FreezeNorm: true, Pretrained: true}},
	{Name: "deit-small-plain", About: "DeiT-S from distilled weights, its token unchanged",
		Value: Model{Released: "deit_small", Backbone: "deit-small", Pooling: "none", Standard: "none", Pretrained: true}},
	{Name: "deit-base-ln", About: "DeiT-B from distilled weights, LayerNorm",
		Value: Model{Released: "deit_base", Backbone: "deit-base", Pooling: "none", Standard: "layernorm", Pretrained: true}},
	{Name: "vit-base-plain", About: "ViT-B from ImageNet-21k weights, its token unchanged",
		Value: Model{Released: "vit_base", Backbone: "vit-base", Pooling: "none", Standard: "none", Pretrained: true}},
	{Name: "vit-base-512", About: "ViT-B from ImageNet-21k weights, projected",
		Value: Model{Released: "vit_base_512proj", Backbone: "vit-base", Pooling: "none", Standard: "none", Dim: 512,
			Pretrained: true}},
}

// Build declares the network in s.
func (m Model) Build(s *nn.Store) (*Retrieval, error) {
	spec, err := All.Get("backbone", m.Backbone)
	if err != nil {
		return nil, err
	}
	h := Head{Dim: m.Dim}
	if h.Pooling, err = Poolings.Get("pooling", m.Pooling); err != nil {
		return nil, err
	}
	if h.Standard, err = Standards.Get("standard", m.Standard); err != nil {
		return nil, err
	}
	if spec.Facts().Vector != (m.Pooling == "none") {
		return nil, fmt.Errorf("pooling %.80q does not fit %s: want none only for a backbone of vectors", m.Pooling,
			m.Backbone)
	}
	return NewRetrieval(s, spec, Options{FreezeNorm: m.FreezeNorm}, h), nil
}
