package backbone

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hgld/internal/tensorfile"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
)

// DINOv2 is the vision transformer of Oquab et al., "DINOv2: Learning Robust Visual Features
// without Supervision", TMLR 2024, with timm's names: a ViT with LayerScale. Registers (Darcet et
// al., "Vision Transformers Need Registers", ICLR 2024) adds that many tokens without positions
// after the class token. Images [N,Input,Input,4] → [N,Width], the class token after the norm.
//
// The weights were trained on images of 518 pixels. Positions are resampled to Input.
type DINOv2 struct {
	ViT       `yaml:",inline"`
	Registers int `range:"0 64"` // tokens after the class token
}

// CLIP is the image tower of Radford et al., "Learning Transferable Visual Models From Natural
// Language Supervision", ICML 2021, with timm's names: a ViT with a norm before the blocks, and a
// projection. Images [N,Input,Input,4] → [N,Projection], the embedding that is compared with a
// text's. With Projection 0 the result is [N,Width], the class token after the norm.
//
// The tensors do not tell which activation they were trained with. OpenAI's weights use
// quick_gelu, most others gelu.
type CLIP struct {
	ViT        `yaml:",inline"`
	Projection int    `range:"0 16384"` // size of the embedding; 0: no projection
	Activation string // gelu, quick_gelu or gelu_tanh
}

// SigLIP is the image tower of Zhai et al., "Sigmoid Loss for Language Image Pre-Training", ICCV
// 2023, with timm's names: a ViT without a class token. Attention from a learnt query pools the
// tokens. Images [N,Input,Input,4] → [N,Width].
//
// It was trained with gelu_tanh, which transformers computes; timm computes gelu. An activation
// differs by less than 0.0005 between the two.
type SigLIP struct {
	ViT        `yaml:",inline"`
	Activation string // gelu, quick_gelu or gelu_tanh
}

// Activations are the activation functions of an MLP, with the names used in configurations of
// transformers, except that "gelu_pytorch_tanh" is called "gelu_tanh".
var Activations = map[string]device.Func{
	"gelu": device.GELU, "quick_gelu": device.QuickGELU, "gelu_tanh": device.GELUTanh,
}

// clipPixels holds the mean and the standard deviation that CLIP's images are normalised by.
var clipPixels = [2][3]float32{{0.48145466, 0.4578275, 0.40821073}, {0.26862954, 0.26130258, 0.27577711}}

// ε of every LayerNorm: timm's for CLIP; and the initial value of DINOv2's LayerScale.
const (
	clipEps    = 1e-5
	dinoGamma  = 1e-5
	vitMLP     = 4 // width of an MLP divided by the width of a token
	apache     = "Apache-2.0"
	safeTensor = "model.safetensors"
)

// Facts describes the network. Weights exist for the sizes of timm.
func (s DINOv2) Facts() Facts {
	f := Facts{Input: s.Input, Fixed: true, Channels: s.Width, Vector: true, Mean: imageNet[0], Std: imageNet[1],
		Filter: "bicubic", Unshown: Unshown{"gelu", false, s.Heads, vitEps}}
	if f.Input < 518 { // Meta's processor; timm takes the whole of 518 pixels
		f.Resize = f.Input * 256 / 224
	}
	if size := sizeName(s.Width); size != "" {
		timm, meta := "", "facebook/dinov2-"
		if s.Registers > 0 {
			timm, meta = fmt.Sprintf("_reg%d", s.Registers), "facebook/dinov2-with-registers-"
		}
		f.Weights = []Weights{
			{From: fmt.Sprintf("timm/vit_%s_patch%d%s_dinov2.lvd142m", size, s.Patch, timm), File: safeTensor, Licence: apache},
			{From: meta + size, File: safeTensor, Licence: apache},
		}
	}
	return f
}

// Facts describes the network. Weights exist for ViT-B.
func (s CLIP) Facts() Facts {
	f := Facts{Input: s.Input, Fixed: true, Channels: s.Width, Vector: true, Mean: clipPixels[0], Std: clipPixels[1],
		Filter: "bicubic", Unshown: Unshown{s.Activation, true, s.Heads, clipEps}}
	if s.Projection > 0 {
		f.Channels = s.Projection
	}
	if sizeName(s.Width) == "base" {
		f.Weights = []Weights{
			{From: fmt.Sprintf("openai/clip-vit-base-patch%d", s.Patch), File: safeTensor},
			{From: fmt.Sprintf("timm/vit_base_patch%d_clip_%d.openai", s.Patch, s.Input), File: safeTensor, Licence: apache},
		}
	}
	return f
}

// Facts describes the network. Weights exist for ViT-B.
func (s SigLIP) Facts() Facts {
	half := [3]float32{0.5, 0.5, 0.5}
	f := Facts{Input: s.Input, Fixed: true, Channels: s.Width, Vector: true, Mean: half, Std: half,
		Filter: "bicubic", Squash: true, Unshown: Unshown{s.Activation, true, s.Heads, vitEps}}
	if sizeName(s.Width) == "base" {
		f.Weights = []Weights{
			{From: fmt.Sprintf("google/siglip-base-patch%d-%d", s.Patch, s.Input), File: safeTensor, Licence: apache},
			{From: fmt.Sprintf("timm/vit_base_patch%d_siglip_%d.webli", s.Patch, s.Input), File: safeTensor, Licence: apache},
		}
	}
	return f
}

// Check returns an error if the settings do not describe a network.
func (s CLIP) Check() error { return cmp.Or(checkActivation(s.Activation), s.ViT.Check()) }

// Check returns an error if the settings do not describe a network.
func (s SigLIP) Check() error { return cmp.Or(checkActivation(s.Activation), s.ViT.Check()) }

func checkActivation(name string) error {
	if _, known := Activations[name]; known {
		return nil
	}
	return fmt.Errorf("activation is %.40q; want gelu, quick_gelu or gelu_tanh", name)
}

// tower is a transformer over patches, with the optional parts of these networks.
type tower struct {
	embed       *nn.PatchEmbed
	before      *nn.LayerNorm // of the tokens before the blocks, or nil
	blocks      []*nn.Block
	norm        *nn.LayerNorm
	fronts      int               // tokens before the patches whose mean is the result, without a pool
	pool        *nn.AttentionPool // nil: none
	head        *nn.Linear        // nil: no projection
	width       int               // of the features
	classifiers []*nn.Linear      // one for each of the tokens in front; none without classes
}

// starting initialises linear layers with deviation 0.02 and no bias, as timm does. timm cuts its
// normal distribution at ±2, which is a hundred deviations and has no effect.
func starting(c nn.Scope) nn.Scope { return c.Starting(nn.Normal(0.02), nn.Constant(0)) }

// tower declares tokens, blocks and norm, and a norm before the blocks if before is set. shape has what is particular
// to the tokens.
func (s ViT) tower(c nn.Scope, shape nn.PatchShape, eps float32, act device.Func, before bool) *tower {
	c = starting(c)
	shape.Patch, shape.Width, shape.H, shape.W = s.Patch, s.Width, s.Input, s.Input
	n := &tower{embed: nn.NewPatchEmbed(c, shape), width: s.Width, fronts: 1}
	if before {
		n.before = nn.NewLayerNorm(c.In("norm_pre"), s.Width, eps)
	}
	for i := range s.Depth {
		b := nn.NewBlock(c.In("blocks").In(fmt.Sprint(i)), s.Width, s.Heads, vitMLP*s.Width, eps)
		b.MLP.Act = act
		n.blocks = append(n.blocks, b)
	}
	n.norm = nn.NewLayerNorm(c.In("norm"), s.Width, eps)
	return n
}

// Build declares cls_token, pos_embed, blocks.0.ls1.gamma and so on.
func (s DINOv2) Build(c nn.Scope, _ Options) Backbone {
	n := s.tower(c, nn.PatchShape{Registers: s.Registers}, vitEps, device.GELU, false)
	for i, b := range n.blocks {
		b.WithLayerScale(starting(c).In("blocks").In(fmt.Sprint(i)), s.Width, dinoGamma)
	}
	return n
}

// Build declares cls_token, norm_pre, blocks.0.norm1.weight and so on, and a head with a bias, as
// timm does.
func (s CLIP) Build(c nn.Scope, _ Options) Backbone {
	n := s.tower(c, nn.PatchShape{NoBias: true}, clipEps, Activations[s.Activation], true)
	if s.Projection > 0 {
		n.head, n.width = nn.NewLinear(starting(c).In("head"), s.Width, s.Projection), s.Projection
	}
	return n
}

// Build declares pos_embed, blocks.0.norm1.weight and so on, and attn_pool.
func (s SigLIP) Build(c nn.Scope, _ Options) Backbone {
	act := Activations[s.Activation]
	n := s.tower(c, nn.PatchShape{NoClass: true}, vitEps, act, false)
	n.pool = nn.NewAttentionPool(starting(c).In("attn_pool"), s.Width, s.Heads, vitMLP*s.Width, vitEps)
	n.pool.MLP.Act = act
	return n
}

// Channels returns the width of the features.
func (n *tower) Channels() int { return n.width }

// Stages returns the tokens with their positions, the blocks, the norm, and the reduction of the
// tokens to one vector.
func (n *tower) Stages() []Stage { return n.stages(false) }

// stages are Stages. If lean, without a pool, the last block returns only the tokens that are reduced.
func (n *tower) stages(lean bool) []Stage {
	stages := []Stage{{"tokens", n.embed.Forward}}
	if n.before != nil {
		stages = append(stages, Stage{"norm_pre", n.before.Forward})
	}
	for i, b := range n.blocks {
		layer := b.Forward
		if lean && i == len(n.blocks)-1 && n.pool == nil {
			layer = func(t *grad.Tape, x *grad.Var) *grad.Var { return b.Front(t, x, n.fronts) }
		}
		stages = append(stages, Stage{fmt.Sprintf("blocks.%d", i), layer})
	}
	stages = append(stages, Stage{"norm", n.norm.Forward})
	if n.pool != nil {
		return append(stages, Stage{"attn_pool", n.pool.Forward})
	}
	stages = append(stages, Stage{"token", n.token})
	if n.head != nil {
		stages = append(stages, Stage{"head", n.head.Forward})
	}
	return stages
}

// token returns the class token [N,D] of normalised tokens [N,T,D], or its mean with the
// distillation token.
func (n *tower) token(t *grad.Tape, x *grad.Var) *grad.Var {
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
func (n *tower) Logits(t *grad.Tape, x *grad.Var) []*grad.Var {
	var list []*grad.Var
	for i, head := range n.classifiers {
		list = append(list, nn.Chain(t, x, func(t *grad.Tape, x *grad.Var) *grad.Var { return nn.Token(t, x, i) },
			head.Forward))
	}
	return list
}

// timmNames renames and reshapes tensors of timm, transformers, or Meta.
func (s DINOv2) timmNames(layout []nn.Shape, tensors []tensorfile.Tensor) ([]tensorfile.Tensor, bool) {
	list, ofTransformers := towerTensors(layout, tensors)
	if s.Registers > 0 {
		placeClass(list)
	}
	return list, ofTransformers
}

// timmNames renames and reshapes tensors of timm, transformers, OpenAI, or open_clip.
func (s CLIP) timmNames(layout []nn.Shape, tensors []tensorfile.Tensor) ([]tensorfile.Tensor, bool) {
	return towerTensors(layout, tensors)
}

// timmNames renames and reshapes tensors of timm, transformers, or open_clip.
func (s SigLIP) timmNames(layout []nn.Shape, tensors []tensorfile.Tensor) ([]tensorfile.Tensor, bool) {
	return towerTensors(layout, tensors)
}

// fronts is 0 with registers, because placeClass has moved the position of the class token.
func (s DINOv2) fronts() int {
	if s.Registers > 0 {
		return 0
	}
	return 1
}

// fronts is 0, because there is no class token.
func (s SigLIP) fronts() int { return 0 }

// own reports whether the network itself declares a name that belongs to a classifier elsewhere.
func own(declared []nn.Shape, name string) bool {
	prefix, _, _ := strings.Cut(name, ".")
	return slices.ContainsFunc(declared, func(x nn.Shape) bool { return strings.HasPrefix(x.Name, prefix+".") })
}

// ONNX adds the norm before the blocks, the blocks, the class token and its projection.
func (s CLIP) ONNX(g Graph, images string) string {
	n := transformerGraph{Graph: g, eps: clipEps, act: activationGraphs[s.Activation], spec: s.ViT}
	x := n.blocks(n.norm(n.tokens(images), "norm_pre"))
	x = n.Node("Squeeze", []string{n.slice(x, 0, 1), n.Ints(1)})
	if s.Projection > 0 {
		x = n.linear(x, "head")
	}
	return x
}

// ONNX adds the blocks and the pooling by attention.
func (s SigLIP) ONNX(g Graph, images string) string {
	n := transformerGraph{Graph: g, act: activationGraphs[s.Activation], spec: s.ViT}
	return n.attentionPool(n.blocks(n.tokens(images)), "attn_pool.")
}
