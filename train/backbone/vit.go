package backbone

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/nn"
)

// ViT is the vision transformer of Dosovitskiy et al., "An Image is Worth 16x16 Words", ICLR
// 2021, with timm's names. Patches of Patch pixels become tokens of Width numbers, with a class
// token in front and positions added. Depth blocks with pre-norms and an MLP four times as wide
// follow, then a final norm (all with ε 1e-6). Images [N,Input,Input,4] → [N,Width], the class
// token.
type ViT struct {
	Width int `range:"1 16384"` // size of a token
	Depth int `range:"1 256"`   // blocks
	Heads int `range:"1 256"`   // a divisor of Width
	Patch int `range:"1 1024"`  // side, in pixels
	Input int `range:"1 8192"`  // side of the images; positions are learnt for one size
}

// DeiT is the transformer of Touvron et al., "Training data-efficient image transformers &
// distillation through attention", ICML 2021: a ViT with other weights. If Distilled, it has a
// second token in front, taught by another network, and returns the mean of the two, as timm
// does.
//
// The plain network also reads weights of a distilled one. It skips the second token with its
// position and head. SupRank's deit_small and deit_base are made this way.
type DeiT struct {
	ViT       `yaml:",inline"`
	Distilled bool // has a distillation token
}

// vitEps is timm's ε of every LayerNorm in a ViT. torch's own default is 1e-5.
const vitEps = 1e-6

// Facts describes the network. Weights exist for the sizes of timm.
func (s ViT) Facts() Facts {
	half := [3]float32{0.5, 0.5, 0.5}
	f := Facts{Input: s.Input, Fixed: true, Channels: s.Width, Vector: true, Heads: []string{"head."},
		Mean: half, Std: half, Filter: "bicubic", Resize: vitResize(s.Input),
		Unshown: Unshown{"gelu", false, s.Heads, vitEps}}
	if size := sizeName(s.Width); size != "" {
		for _, trained := range []string{"augreg_in21k", "augreg_in21k_ft_in1k"} {
			from := fmt.Sprintf("vit_%s_patch%d_%d.%s", size, s.Patch, s.Input, trained)
			f.Weights = append(f.Weights, Weights{From: "timm/" + from, File: safeTensor, Licence: apache})
		}
	}
	return f
}

// Facts describes the network. Weights exist for the sizes of timm.
func (s DeiT) Facts() Facts {
	f := s.ViT.Facts()
	f.Mean, f.Std, f.Weights = imageNet[0], imageNet[1], nil
	if size := sizeName(s.Width); size != "" {
		from := fmt.Sprintf("deit_%s_distilled_patch%d_%d.fb_in1k", size, s.Patch, s.Input)
		f.Weights = []Weights{{From: "timm/" + from, File: safeTensor, Licence: apache}}
	}
	if s.Distilled {
		f.Heads = append(f.Heads, "head_dist.")
	}
	return f
}

// vitResize returns the short side of an image before the crop.
func vitResize(input int) int {
	if input < 384 {
		return input * 10 / 9
	}
	return input
}

// fronts counts the class token and, if there is one, the distillation token.
func (s DeiT) fronts() int {
	if s.Distilled {
		return 2
	}
	return 1
}

// sizeName returns the name of a transformer's size in names of weights.
func sizeName(width int) string {
	return map[int]string{384: "small", 768: "base", 1024: "large"}[width]
}

// Build declares cls_token, pos_embed, blocks.0.norm1.weight and so on.
func (s ViT) Build(c nn.Scope, o Options) Backbone { return s.build(c, o, false) }

// Build declares what ViT does, plus dist_token and head_dist if s is distilled.
func (s DeiT) Build(c nn.Scope, o Options) Backbone { return s.build(c, o, s.Distilled) }

func (s ViT) build(c nn.Scope, o Options, distilled bool) Backbone {
	n := s.tower(c, nn.PatchShape{Distilled: distilled}, vitEps, device.GELU, false)
	heads := []string{"head"}
	if distilled {
		n.fronts, heads = 2, append(heads, "head_dist")
	}
	if o.Classes > 0 {
		for _, name := range heads {
			n.classifiers = append(n.classifiers, nn.NewLinear(starting(c).In(name), s.Width, o.Classes))
		}
	}
	return n
}

// ONNX adds the blocks and selects the class token; with a distillation token, their mean.
func (s ViT) ONNX(g Graph, images string) string {
	return transformerGraph{Graph: g, spec: s}.features(images)
}

// Check returns an error if the settings do not describe a network.
func (s ViT) Check() error {
	switch {
	case s.Depth < 1 || s.Heads < 1 || s.Width < 1 || s.Width%s.Heads != 0:
		return fmt.Errorf("width is %d, depth %d and heads %d; want numbers from 1 up, and a width that the heads divide",
			s.Width, s.Depth, s.Heads)
	case s.Patch < 1 || s.Input < 1 || s.Input%s.Patch != 0:
		return fmt.Errorf("input is %d and patch %d; want input to be a multiple of patch", s.Input, s.Patch)
	}
	return nil
}
