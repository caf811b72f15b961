package export

import (
	"math"

	"hgld/train/backbone"
)

// activations maps the names of backbone.Activations to their exporters.
var activations = map[string]func(transformer, string) string{
	"gelu": transformer.gelu, "quick_gelu": transformer.quickGELU, "gelu_tanh": transformer.tanhGELU,
}

// dinov2 exports a backbone.DINOv2.
func dinov2(g *graph, s backbone.DINOv2) features {
	spec := backbone.ViT{Width: s.Width, Depth: s.Depth, Heads: s.Heads, Patch: s.Patch, Input: s.Input}
	return transformer{graph: g, spec: spec}.features
}

// clip exports a backbone.CLIP.
func clip(g *graph, s backbone.CLIP) features {
	spec := backbone.ViT{Width: s.Width, Depth: s.Depth, Heads: s.Heads, Patch: s.Patch, Input: s.Input}
	n := transformer{graph: g, spec: spec, eps: 1e-5, act: activations[s.Activation]}
	return func(images string) string {
		x := n.blocks(n.norm(n.tokens(images), "norm_pre"))
		x = n.op("Squeeze", []string{n.slice(x, 0, 1), n.ints(1)})
		if s.Projection > 0 {
			x = n.linear(x, "head")
		}
		return x
	}
}

// siglip exports a backbone.SigLIP.
func siglip(g *graph, s backbone.SigLIP) features {
	spec := backbone.ViT{Width: s.Width, Depth: s.Depth, Heads: s.Heads, Patch: s.Patch, Input: s.Input}
	n := transformer{graph: g, spec: spec, act: activations[s.Activation]}
	return func(images string) string { return n.attentionPool(n.blocks(n.tokens(images)), "attn_pool.") }
}

// attentionPool adds nn.AttentionPool: [N,T,D] to [N,D].
func (n transformer) attentionPool(x, name string) string {
	heads, width := n.spec.Heads, n.spec.Width/n.spec.Heads
	q := n.linear(n.weight(n.name(name+"latent")), name+"q")
	q = n.op("Transpose", []string{n.op("Reshape", []string{q, n.ints(1, 1, heads, width)})},
		attribute{"perm", []int{0, 2, 1, 3}})
	kv := n.op("Reshape", []string{n.linear(x, name+"kv"), n.ints(0, 0, 2, heads, width)})
	part := func(i int, order []int) string {
		one := n.op("Gather", []string{kv, n.integer(i)}, attribute{"axis", 2}) // [N,T,heads,width]
		return n.op("Transpose", []string{one}, attribute{"perm", order})
	}
	scores := n.op("MatMul", []string{q, part(0, []int{0, 2, 3, 1})})
	scores = n.op("Mul", []string{scores, n.float(1 / math.Sqrt(float64(width)))})
	seen := n.op("MatMul", []string{n.op("Softmax", []string{scores}, attribute{"axis", -1}), part(1, []int{0, 2, 1, 3})})
	z := n.linear(n.op("Reshape", []string{seen, n.ints(0, n.spec.Width)}), name+"proj")
	return n.op("Add", []string{z, n.mlp(n.norm(z, name+"norm"), name+"mlp.")})
}

// quickGELU adds x·σ(1.702x).
func (n transformer) quickGELU(x string) string {
	gate := n.op("Sigmoid", []string{n.op("Mul", []string{x, n.float(1.702)})})
	return n.op("Mul", []string{x, gate})
}

// tanhGELU adds x·σ(2√(2/π)(x + 0.044715x³)), which is ½x(1 + tanh(√(2/π)(x + 0.044715x³))).
func (n transformer) tanhGELU(x string) string {
	cube := n.op("Mul", []string{n.op("Mul", []string{x, x}), x})
	inner := n.op("Add", []string{x, n.op("Mul", []string{cube, n.float(0.044715)})})
	gate := n.op("Sigmoid", []string{n.op("Mul", []string{inner, n.float(2 * math.Sqrt(2/math.Pi))})})
	return n.op("Mul", []string{x, gate})
}
