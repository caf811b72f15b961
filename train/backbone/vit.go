package backbone

import (
	"fmt"

	"hgld/train/grad"
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
	Width     int  `range:"1 16384"` // size of a token
	Depth     int  `range:"1 256"`   // blocks
	Heads     int  `range:"1 256"`   // a divisor of Width
	Patch     int  `range:"1 1024"`  // side, in pixels
	Input     int  `range:"1 8192"`  // side of the images
	Distilled bool // has a distillation token
}

// vitEps is timm's ε of every LayerNorm in a ViT. torch's own default is 1e-5.
const vitEps = 1e-6

// Facts describes the network. Weights exist for the sizes of timm.
func (s ViT) Facts() Facts {
	half := [3]float32{0.5, 0.5, 0.5}
	f := Facts{Input: s.Input, Fixed: true, Channels: s.Width, Vector: true, Heads: []string{"head."},
		Mean: half, Std: half}
	if size := sizeName(s.Width); size != "" {
		for _, trained := range []string{"augreg_in21k", "augreg_in21k_ft_in1k"} {
			from := fmt.Sprintf("vit_%s_patch%d_%d.%s", size, s.Patch, s.Input, trained)
			f.Weights = append(f.Weights, Weights{From: "timm/" + from, File: "model.safetensors", Licence: "Apache-2.0"})
		}
	}
	return f
}

// Facts describes the network. Weights exist for the sizes of timm.
func (s DeiT) Facts() Facts {
	f := Facts{Input: s.Input, Fixed: true, Channels: s.Width, Vector: true,
		Heads: []string{"head.", "head_dist."}, Mean: imageNet[0], Std: imageNet[1]}
	if size := sizeName(s.Width); size != "" {
		from := fmt.Sprintf("deit_%s_distilled_patch%d_%d.fb_in1k", size, s.Patch, s.Input)
		f.Weights = []Weights{{From: "timm/" + from, File: "model.safetensors", Licence: "Apache-2.0"}}
	}
	if !s.Distilled {
		f.Heads = f.Heads[:1]
	}
	return f
}

// fronts counts the class token and, if there is one, the distillation token.
func (s DeiT) fronts() int {
	if s.Distilled {
		return 2
	}
	return 1
}

// sizeName returns the name of a transformer's size in names of weights.
func sizeName(width int) string { return map[int]string{384: "small", 768: "base"}[width] }

type vit struct {
	embed  *nn.PatchEmbed
	blocks []*nn.Block
	norm   *nn.LayerNorm
	width  int
	fronts int          // tokens before the patches
	heads  []*nn.Linear // one for each of these tokens; none without classes
}

// Build declares cls_token, pos_embed, blocks.0.norm1.weight and so on.
func (s ViT) Build(c nn.Scope, o Options) Backbone { return s.build(c, o, false) }

// Build declares what ViT does, plus dist_token and head_dist if s is distilled.
func (s DeiT) Build(c nn.Scope, o Options) Backbone {
	return ViT{Width: s.Width, Depth: s.Depth, Heads: s.Heads, Patch: s.Patch, Input: s.Input}.build(c, o, s.Distilled)
}

// build initialises linear layers with deviation 0.02 and no bias, as timm does. timm cuts its
// normal distribution at ±2, which is a hundred deviations and has no effect.
func (s ViT) build(c nn.Scope, o Options, distilled bool) Backbone {
	c = c.Starting(nn.Normal(0.02), nn.Constant(0))
	shape := nn.PatchShape{Patch: s.Patch, Width: s.Width, H: s.Input, W: s.Input, Distilled: distilled}
	net := &vit{embed: nn.NewPatchEmbed(c, shape), width: s.Width, fronts: 1}
	for i := range s.Depth {
		scope := c.In("blocks").In(fmt.Sprint(i))
		net.blocks = append(net.blocks, nn.NewBlock(scope, s.Width, s.Heads, 4*s.Width, vitEps))
	}
	net.norm = nn.NewLayerNorm(c.In("norm"), s.Width, vitEps)
	heads := []string{"head"}
	if distilled {
		net.fronts, heads = 2, append(heads, "head_dist")
	}
	if o.Classes > 0 {
		for _, name := range heads {
			net.heads = append(net.heads, nn.NewLinear(c.In(name), s.Width, o.Classes))
		}
	}
	return net
}

// Channels returns the width of a token.
func (n *vit) Channels() int { return n.width }

// Stages returns the tokens with their positions, the blocks, the norm, and the choice of a
// token.
func (n *vit) Stages() []Stage {
	stages := []Stage{{"tokens", n.embed.Forward}}
	for i, b := range n.blocks {
		stages = append(stages, Stage{fmt.Sprintf("blocks.%d", i), b.Forward})
	}
	return append(stages, Stage{"norm", n.norm.Forward}, Stage{"token", n.token})
}

// token returns the class token [N,D] of normalised tokens [N,T,D], or its mean with the
// distillation token.
func (n *vit) token(t *grad.Tape, x *grad.Var) *grad.Var {
	cls := nn.Token(t, x, 0)
	if n.fronts == 1 {
		return cls
	}
	dist := nn.Token(t, x, 1)
	y := average(t, cls, dist)
	t.Done(cls)
	t.Done(dist)
	return y
}

// Logits takes the normalised tokens [N,T,D]. Each head reads its own token.
func (n *vit) Logits(t *grad.Tape, x *grad.Var) []*grad.Var {
	var list []*grad.Var
	for i, head := range n.heads {
		list = append(list, nn.Chain(t, x, func(t *grad.Tape, x *grad.Var) *grad.Var { return nn.Token(t, x, i) },
			head.Forward))
	}
	return list
}
