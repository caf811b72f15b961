package backbone

import (
	"fmt"
	"math"
)

// Attribute is a constant of a node of an ONNX graph.
type Attribute struct {
	Name  string // as in the operator's specification
	Value any    // an int, a float32, a string or an []int
}

// Graph is an ONNX graph under construction. Values are referred to by name. Package export
// implements it.
type Graph interface {
	// Op adds a node with one output and returns the output's name.
	Op(kind string, inputs ...string) string
	// Node is Op with attributes.
	Node(kind string, inputs []string, attributes ...Attribute) string
	// Weight returns the name of a tensor of the checkpoint, with the prefix of the head or Prefix.
	Weight(name string) string
	// Has reports whether the checkpoint has a tensor.
	Has(name string) bool
	// ShapeOf returns the shape of a tensor, which must have n dimensions.
	ShapeOf(name string, n int) []int
	// Float adds a constant number and returns its name.
	Float(v float64) string
	// Floats adds a constant vector and returns its name.
	Floats(v ...float32) string
	// Integer adds a constant number and returns its name.
	Integer(v int) string
	// Ints adds a constant vector and returns its name.
	Ints(v ...int) string
}

// activationGraphs adds the Activations to a graph.
var activationGraphs = map[string]func(transformerGraph, string) string{
	"gelu": transformerGraph.gelu, "quick_gelu": transformerGraph.quickGELU, "gelu_tanh": transformerGraph.tanhGELU,
}

// conv adds a convolution without bias, its BatchNorm and, if relu is set, a ReLU. conv and
// norm are the names in the checkpoint.
func convGraph(g Graph, x, conv, norm string, stride, pad int, relu bool) string {
	shape := g.ShapeOf(Prefix+conv+".weight", 4)
	attributes := []Attribute{{"kernel_shape", shape[2:]}, {"strides", []int{stride, stride}},
		{"pads", []int{pad, pad, pad, pad}}}
	if shape[1] == 1 { // depthwise: each channel has a filter
		attributes = append(attributes, Attribute{"group", shape[0]})
	}
	x = g.Node("Conv", []string{x, g.Weight(Prefix + conv + ".weight")}, attributes...)
	n := Prefix + norm + "."
	x = g.Node("BatchNormalization", []string{x, g.Weight(n + "weight"), g.Weight(n + "bias"),
		g.Weight(n + "running_mean"), g.Weight(n + "running_var")},
		Attribute{"epsilon", float32(1e-5)})
	if relu {
		x = g.Node("Relu", []string{x})
	}
	return x
}

// transformerGraph adds a transformer to a graph. The checkpoint determines the number of tokens
// before the patches.
type transformerGraph struct {
	Graph
	spec ViT
	eps  float32                               // ε of every norm; 0: timm's, 1e-6
	act  func(transformerGraph, string) string // of the MLPs; nil: GELU
}

func (n transformerGraph) name(s string) string { return Prefix + s }

func (n transformerGraph) features(images string) string {
	x := n.blocks(n.tokens(images))
	if n.distilled() {
		return n.Node("ReduceMean", []string{n.slice(x, 0, 2)}, Attribute{"axes", []int{1}}, Attribute{"keepdims", 0})
	}
	return n.Node("Squeeze", []string{n.slice(x, 0, 1), n.Ints(1)})
}

// blocks adds the blocks and the norm after them.
func (n transformerGraph) blocks(x string) string {
	for i := range n.spec.Depth {
		block := fmt.Sprintf("blocks.%d.", i)
		h := n.attention(n.norm(x, block+"norm1"), block+"attn.")
		x = n.Node("Add", []string{x, n.scaled(h, block+"ls1.gamma")})
		h = n.mlp(n.norm(x, block+"norm2"), block+"mlp.")
		x = n.Node("Add", []string{x, n.scaled(h, block+"ls2.gamma")})
	}
	return n.norm(x, "norm")
}

// mlp adds nn.MLP.
func (n transformerGraph) mlp(x, name string) string {
	h := n.linear(x, name+"fc1")
	if n.act == nil {
		h = n.gelu(h)
	} else {
		h = n.act(n, h)
	}
	return n.linear(h, name+"fc2")
}

// scaled multiplies by a vector of the checkpoint, if there is one of that name.
func (n transformerGraph) scaled(x, name string) string {
	if !n.Has(n.name(name)) {
		return x
	}
	return n.Node("Mul", []string{x, n.Weight(n.name(name))})
}

func (n transformerGraph) distilled() bool { return n.Has(n.name("dist_token")) }

// slice selects tokens [from, to).
func (n transformerGraph) slice(x string, from, to int) string {
	return n.Node("Slice", []string{x, n.Ints(from), n.Ints(to), n.Ints(1)})
}

// tokens adds the token sequence: the class token and any further tokens, then the patches row
// by row, with positions added.
func (n transformerGraph) tokens(images string) string {
	p := n.spec.Patch
	inputs := []string{images, n.Weight(n.name("patch_embed.proj.weight"))}
	if bias := n.name("patch_embed.proj.bias"); n.Has(bias) {
		inputs = append(inputs, n.Weight(bias))
	}
	x := n.Node("Conv", inputs,
		Attribute{"kernel_shape", []int{p, p}}, Attribute{"strides", []int{p, p}})
	x = n.Node("Reshape", []string{x, n.Ints(0, n.spec.Width, -1)})
	x = n.Node("Transpose", []string{x}, Attribute{"perm", []int{0, 2, 1}})
	onPatches := n.Has(n.name("reg_token")) || !n.Has(n.name("cls_token"))
	if onPatches {
		x = n.Node("Add", []string{x, n.Weight(n.name("pos_embed"))})
	}
	batch := n.Node("Shape", []string{images}, Attribute{"start", 0}, Attribute{"end", 1})
	var front []string
	for _, token := range []string{"cls_token", "dist_token", "reg_token"} {
		if n.Has(n.name(token)) {
			count := n.ShapeOf(n.name(token), 3)[1]
			shape := n.Node("Concat", []string{batch, n.Ints(count, n.spec.Width)}, Attribute{"axis", 0})
			front = append(front, n.Node("Expand", []string{n.Weight(n.name(token)), shape}))
		}
	}
	if len(front) > 0 {
		x = n.Node("Concat", append(front, x), Attribute{"axis", 1})
	}
	if onPatches {
		return x
	}
	return n.Node("Add", []string{x, n.Weight(n.name("pos_embed"))})
}

// attention adds nn.Attention, whose packed projection holds all queries, then keys, then
// values.
func (n transformerGraph) attention(x, name string) string {
	heads := n.spec.Heads
	width := n.spec.Width / heads
	x = n.Node("Reshape", []string{n.linear(x, name+"qkv"), n.Ints(0, 0, 3, heads, width)})
	part := func(i int, order []int) string {
		one := n.Node("Gather", []string{x, n.Integer(i)}, Attribute{"axis", 2}) // [N,T,heads,width]
		return n.Node("Transpose", []string{one}, Attribute{"perm", order})
	}
	scores := n.Node("MatMul", []string{part(0, []int{0, 2, 1, 3}), part(1, []int{0, 2, 3, 1})})
	scores = n.Node("Mul", []string{scores, n.Float(1 / math.Sqrt(float64(width)))})
	share := n.Node("Softmax", []string{scores}, Attribute{"axis", -1})
	seen := n.Node("MatMul", []string{share, part(2, []int{0, 2, 1, 3})})
	seen = n.Node("Transpose", []string{seen}, Attribute{"perm", []int{0, 2, 1, 3}})
	return n.linear(n.Node("Reshape", []string{seen, n.Ints(0, 0, n.spec.Width)}), name+"proj")
}

// norm adds a LayerNorm with γ and β.
func (n transformerGraph) norm(x, name string) string {
	eps := n.eps
	if eps == 0 {
		eps = 1e-6
	}
	return n.Node("LayerNormalization", []string{x, n.Weight(n.name(name + ".weight")), n.Weight(n.name(name + ".bias"))},
		Attribute{"axis", -1}, Attribute{"epsilon", eps})
}

// linear adds x·Wᵀ + b over the last axis. A runtime folds the transposition of the constant
// when it loads the file.
func (n transformerGraph) linear(x, name string) string {
	w := n.Node("Transpose", []string{n.Weight(n.name(name + ".weight"))}, Attribute{"perm", []int{1, 0}})
	return n.Node("Add", []string{n.Node("MatMul", []string{x, w}), n.Weight(n.name(name + ".bias"))})
}

// gelu adds x·(1 + erf(x/√2))/2, since opset 17 has no GELU operator.
func (n transformerGraph) gelu(x string) string {
	e := n.Node("Erf", []string{n.Node("Div", []string{x, n.Float(math.Sqrt2)})})
	e = n.Node("Mul", []string{x, n.Node("Add", []string{e, n.Float(1)})})
	return n.Node("Mul", []string{e, n.Float(0.5)})
}

// attentionPool adds nn.AttentionPool: [N,T,D] to [N,D].
func (n transformerGraph) attentionPool(x, name string) string {
	heads, width := n.spec.Heads, n.spec.Width/n.spec.Heads
	q := n.linear(n.Weight(n.name(name+"latent")), name+"q")
	q = n.Node("Transpose", []string{n.Node("Reshape", []string{q, n.Ints(1, 1, heads, width)})},
		Attribute{"perm", []int{0, 2, 1, 3}})
	kv := n.Node("Reshape", []string{n.linear(x, name+"kv"), n.Ints(0, 0, 2, heads, width)})
	part := func(i int, order []int) string {
		one := n.Node("Gather", []string{kv, n.Integer(i)}, Attribute{"axis", 2}) // [N,T,heads,width]
		return n.Node("Transpose", []string{one}, Attribute{"perm", order})
	}
	scores := n.Node("MatMul", []string{q, part(0, []int{0, 2, 3, 1})})
	scores = n.Node("Mul", []string{scores, n.Float(1 / math.Sqrt(float64(width)))})
	share := n.Node("Softmax", []string{scores}, Attribute{"axis", -1})
	seen := n.Node("MatMul", []string{share, part(1, []int{0, 2, 1, 3})})
	z := n.linear(n.Node("Reshape", []string{seen, n.Ints(0, n.spec.Width)}), name+"proj")
	return n.Node("Add", []string{z, n.mlp(n.norm(z, name+"norm"), name+"mlp.")})
}

// quickGELU adds x·σ(1.702x).
func (n transformerGraph) quickGELU(x string) string {
	gate := n.Node("Sigmoid", []string{n.Node("Mul", []string{x, n.Float(1.702)})})
	return n.Node("Mul", []string{x, gate})
}

// tanhGELU adds x·σ(2√(2/π)(x + 0.044715x³)), which is ½x(1 + tanh(√(2/π)(x + 0.044715x³))).
func (n transformerGraph) tanhGELU(x string) string {
	cube := n.Node("Mul", []string{n.Node("Mul", []string{x, x}), x})
	inner := n.Node("Add", []string{x, n.Node("Mul", []string{cube, n.Float(0.044715)})})
	gate := n.Node("Sigmoid", []string{n.Node("Mul", []string{inner, n.Float(2 * math.Sqrt(2/math.Pi))})})
	return n.Node("Mul", []string{x, gate})
}
