// Package backbone holds the networks that turn pixels into features, one file each, and the
// retrieval network around them: backbone, pooling, standardisation, projection, unit length.
package backbone

import (
	"hgld/internal/registry"
	"hgld/train/grad"
	"hgld/train/nn"
)

// Backbone turns images [N,H,W,4], whose fourth channel is zero, into features [N,H',W',C]. Some
// backbones return one vector [N,C] for each image instead, which is not pooled. The stages run
// in order.
type Backbone interface {
	// Stages returns the parts of the network, in order.
	Stages() []Stage
	// Channels returns C, the size of the features.
	Channels() int
}

// Stage is a part of a network. Its parameters share a name prefix in files.
type Stage struct {
	Name  string   // prefix of its parameters in files
	Layer nn.Layer // its forward pass
}

// Classifier is a Backbone with the head of its published weights. Options.Classes declares the
// head.
type Classifier interface {
	Backbone
	// Logits returns one array [N,Classes] for each head. x is the pooled features [N,C] of a
	// convolutional network, or the tokens [N,T,C] that the second-to-last stage of a transformer
	// returns.
	Logits(t *grad.Tape, x *grad.Var) []*grad.Var
}

// Spec describes a backbone. Its exported fields are the settings.
type Spec interface {
	// Build declares the parameters in c.
	Build(c nn.Scope, o Options) Backbone
	// Facts returns what is known before Build.
	Facts() Facts
	// ONNX adds the network to a graph and returns the name of its result, [N,C,H,W] or [N,C]. images is
	// the name of the input. A parameter p of Build is the weight Prefix + p.
	ONNX(g Graph, images string) string
}

// Options are the settings that all backbones share.
type Options struct {
	// FreezeNorm normalises by the running statistics in training too, as is usual with
	// pretrained weights. γ and β are still trained.
	FreezeNorm bool
	Classes    int // the number of classes of the published head; 0: no head, as in retrieval
}

// Facts help to choose a backbone.
type Facts struct {
	Input     int        // side of the images it was published for, in pixels
	Fixed     bool       // it accepts no other size
	Channels  int        // size of its features, and of the embedding without a projection
	Vector    bool       // it returns one vector for each image; the pooling must be "none"
	Heads     []string   // prefixes of the published head's tensors
	Weights   []Weights  // published weights; the first is the usual choice
	Mean, Std [3]float32 // of the pixels that the first of Weights was trained on
	Filter    string     // that resized its images; "": it has no published weights
	Resize    int        // short side before the crop to Input; 0: Input
	Squash    bool       // the whole image was resized, not its short side
	Unshown   Unshown    // what its tensors do not show
}

// Weights says where weights were published. hgld does not include them.
type Weights struct {
	From    string `json:"from"`    // library, and name in it
	File    string `json:"file"`    // name of the file there
	Licence string `json:"licence"` // as stated by the library; "": not stated
}

// All lists the backbones with their defaults.
var All = registry.Table[Spec]{
	{Name: "convnet", About: "four convolutions for small images, seconds to train on a CPU",
		Value: Convnet{Widths: []int{32, 64, 128, 128}, Strides: []int{2, 2, 2, 1}}},
	{Name: "resnet18", About: "ResNet-18 as torchvision has it", Value: ResNet{Blocks: []int{2, 2, 2, 2}}},
	{Name: "resnet34", About: "ResNet-34 as torchvision has it", Value: ResNet{Blocks: []int{3, 4, 6, 3}}},
	{Name: "resnet50", About: "ResNet-50 as torchvision has it (v1.5)",
		Value: ResNet{Blocks: []int{3, 4, 6, 3}, Bottleneck: true}},
	{Name: "resnet101", About: "ResNet-101 as torchvision has it (v1.5)",
		Value: ResNet{Blocks: []int{3, 4, 23, 3}, Bottleneck: true}},
	{Name: "vit-small", About: "ViT-S/16", Value: smallViT(16)},
	{Name: "vit-base", About: "ViT-B/16", Value: baseViT(16)},
	{Name: "vit-large", About: "ViT-L/16", Value: largeViT(16)},
	{Name: "deit-small", About: "DeiT-S/16 without the distillation token, from distilled weights",
		Value: DeiT{ViT: smallViT(16)}},
	{Name: "deit-base", About: "DeiT-B/16 without the distillation token, from distilled weights",
		Value: DeiT{ViT: baseViT(16)}},
	{Name: "deit-small-distilled", About: "DeiT-S/16 with both tokens", Value: DeiT{smallViT(16), true}},
	{Name: "deit-base-distilled", About: "DeiT-B/16 with both tokens", Value: DeiT{baseViT(16), true}},
	{Name: "dinov2-small", About: "DINOv2 ViT-S/14, trained without labels", Value: DINOv2{ViT: smallViT(14)}},
	{Name: "dinov2-base", About: "DINOv2 ViT-B/14, trained without labels", Value: DINOv2{ViT: baseViT(14)}},
	{Name: "dinov2-large", About: "DINOv2 ViT-L/14, trained without labels", Value: DINOv2{ViT: largeViT(14)}},
	{Name: "dinov2-small-registers", About: "DINOv2 ViT-S/14 with 4 registers", Value: DINOv2{smallViT(14), 4}},
	{Name: "dinov2-base-registers", About: "DINOv2 ViT-B/14 with 4 registers", Value: DINOv2{baseViT(14), 4}},
	{Name: "dinov2-large-registers", About: "DINOv2 ViT-L/14 with 4 registers", Value: DINOv2{largeViT(14), 4}},
	{Name: "clip-b32", About: "image tower of CLIP ViT-B/32 with its projection; OpenAI's activation",
		Value: CLIP{baseViT(32), 512, "quick_gelu"}},
	{Name: "clip-b16", About: "image tower of CLIP ViT-B/16 with its projection; OpenAI's activation",
		Value: CLIP{baseViT(16), 512, "quick_gelu"}},
	{Name: "siglip-b16", About: "image tower of SigLIP ViT-B/16", Value: SigLIP{baseViT(16), "gelu_tanh"}},
}

// smallViT, baseViT and largeViT are the usual sizes, for images of 224 pixels.
func smallViT(patch int) ViT { return ViT{Width: 384, Depth: 12, Heads: 6, Patch: patch, Input: 224} }
func baseViT(patch int) ViT  { return ViT{Width: 768, Depth: 12, Heads: 12, Patch: patch, Input: 224} }
func largeViT(patch int) ViT { return ViT{Width: 1024, Depth: 24, Heads: 16, Patch: patch, Input: 224} }

// imageNet holds the mean and the standard deviation of ImageNet's pixels.
var imageNet = [2][3]float32{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}}

// layers returns the layers of stages, for nn.Chain.
func layers(stages []Stage) []nn.Layer {
	list := make([]nn.Layer, len(stages))
	for i, s := range stages {
		list[i] = s.Layer
	}
	return list
}
