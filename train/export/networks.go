package export

import (
	"fmt"
	"math"

	"hgld/train/backbone"
)

// conv adds a convolution without bias, its BatchNorm and, if relu is set, a ReLU. conv and
// norm are the names in the checkpoint.
func (g *graph) conv(x, conv, norm string, stride, pad int, relu bool) string {
	k := g.shapeOf(backbone.Prefix+conv+".weight", 4)[2:]
	x = g.op("Conv", []string{x, g.weight(backbone.Prefix + conv + ".weight")},
		attribute{"kernel_shape", k}, attribute{"strides", []int{stride, stride}},
		attribute{"pads", []int{pad, pad, pad, pad}})
	n := backbone.Prefix + norm + "."
	x = g.op("BatchNormalization", []string{x, g.weight(n + "weight"), g.weight(n + "bias"), g.weight(n + "running_mean"),
		g.weight(n + "running_var")},
		attribute{"epsilon", float32(1e-5)})
	if relu {
		x = g.op("Relu", []string{x})
	}
	return x
}

// convnet exports a backbone.Convnet.
type convnet struct {
	*graph
	spec backbone.Convnet
}

func (n convnet) features(x string) string {
	in := 3
	for i, out := range n.spec.Widths {
		y := n.conv(x, fmt.Sprintf("conv%d", i+1), fmt.Sprintf("bn%d", i+1), n.spec.Strides[i], 1, false)
		if n.spec.Strides[i] == 1 && in == out {
			y = n.op("Add", []string{y, x})
		}
		x, in = n.op("Relu", []string{y}), out
	}
	return x
}

// resnet exports a backbone.ResNet.
type resnet struct {
	*graph
	spec backbone.ResNet
}

func (n resnet) features(x string) string {
	x = n.conv(x, "conv1", "bn1", 2, 3, true)
	x = n.op("MaxPool", []string{x}, attribute{"kernel_shape", []int{3, 3}}, attribute{"strides", []int{2, 2}},
		attribute{"pads", []int{1, 1, 1, 1}})
	for layer, blocks := range n.spec.Blocks {
		for block := range blocks {
			stride := 1
			if layer > 0 && block == 0 {
				stride = 2
			}
			x = n.block(x, fmt.Sprintf("layer%d.%d.", layer+1, block), stride)
		}
	}
	return x
}

// block adds a residual block. A bottleneck applies its stride in the second convolution.
func (n resnet) block(x, name string, stride int) string {
	short := x
	if n.has(backbone.Prefix + name + "downsample.0.weight") {
		short = n.conv(x, name+"downsample.0", name+"downsample.1", stride, 0, false)
	}
	if n.spec.Bottleneck {
		x = n.conv(x, name+"conv1", name+"bn1", 1, 0, true)
		x = n.conv(x, name+"conv2", name+"bn2", stride, 1, true)
		x = n.conv(x, name+"conv3", name+"bn3", 1, 0, false)
	} else {
		x = n.conv(x, name+"conv1", name+"bn1", stride, 1, true)
		x = n.conv(x, name+"conv2", name+"bn2", 1, 1, false)
	}
	return n.op("Relu", []string{n.op("Add", []string{x, short})})
}

// transformer exports a backbone.ViT or DeiT. The checkpoint determines the number of tokens
// before the patches.
type transformer struct {
	*graph
	spec backbone.ViT
	eps  float32                          // ε of every norm; 0: timm's, 1e-6
	act  func(transformer, string) string // of the MLPs; nil: GELU
}

func (n transformer) name(s string) string { return backbone.Prefix + s }

func (n transformer) features(images string) string {
	x := n.blocks(n.tokens(images))
	if n.distilled() {
		return n.op("ReduceMean", []string{n.slice(x, 0, 2)}, attribute{"axes", []int{1}}, attribute{"keepdims", 0})
	}
	return n.op("Squeeze", []string{n.slice(x, 0, 1), n.ints(1)})
}

// blocks adds the blocks and the norm after them.
func (n transformer) blocks(x string) string {
	for i := range n.spec.Depth {
		block := fmt.Sprintf("blocks.%d.", i)
		h := n.attention(n.norm(x, block+"norm1"), block+"attn.")
		x = n.op("Add", []string{x, n.scaled(h, block+"ls1.gamma")})
		h = n.mlp(n.norm(x, block+"norm2"), block+"mlp.")
		x = n.op("Add", []string{x, n.scaled(h, block+"ls2.gamma")})
	}
	return n.norm(x, "norm")
}

// mlp adds nn.MLP.
func (n transformer) mlp(x, name string) string {
	h := n.linear(x, name+"fc1")
	if n.act == nil {
		h = n.gelu(h)
	} else {
		h = n.act(n, h)
	}
	return n.linear(h, name+"fc2")
}

// scaled multiplies by a vector of the checkpoint, if there is one of that name.
func (n transformer) scaled(x, name string) string {
	if !n.has(n.name(name)) {
		return x
	}
	return n.op("Mul", []string{x, n.weight(n.name(name))})
}

func (n transformer) distilled() bool { return n.has(n.name("dist_token")) }

// slice selects tokens [from, to).
func (n transformer) slice(x string, from, to int) string {
	return n.op("Slice", []string{x, n.ints(from), n.ints(to), n.ints(1)})
}

// tokens adds the token sequence: the class token and any further tokens, then the patches row
// by row, with positions added.
func (n transformer) tokens(images string) string {
	p := n.spec.Patch
	inputs := []string{images, n.weight(n.name("patch_embed.proj.weight"))}
	if bias := n.name("patch_embed.proj.bias"); n.has(bias) {
		inputs = append(inputs, n.weight(bias))
	}
	x := n.op("Conv", inputs,
		attribute{"kernel_shape", []int{p, p}}, attribute{"strides", []int{p, p}})
	x = n.op("Reshape", []string{x, n.ints(0, n.spec.Width, -1)})
	x = n.op("Transpose", []string{x}, attribute{"perm", []int{0, 2, 1}})
	onPatches := n.has(n.name("reg_token")) || !n.has(n.name("cls_token"))
	if onPatches {
		x = n.op("Add", []string{x, n.weight(n.name("pos_embed"))})
	}
	batch := n.op("Shape", []string{images}, attribute{"start", 0}, attribute{"end", 1})
	var front []string
	for _, token := range []string{"cls_token", "dist_token", "reg_token"} {
		if n.has(n.name(token)) {
			count := n.shapeOf(n.name(token), 3)[1]
			shape := n.op("Concat", []string{batch, n.ints(count, n.spec.Width)}, attribute{"axis", 0})
			front = append(front, n.op("Expand", []string{n.weight(n.name(token)), shape}))
		}
	}
	if len(front) > 0 {
		x = n.op("Concat", append(front, x), attribute{"axis", 1})
	}
	if onPatches {
		return x
	}
	return n.op("Add", []string{x, n.weight(n.name("pos_embed"))})
}

// attention adds nn.Attention, whose packed projection holds all queries, then keys, then
// values.
func (n transformer) attention(x, name string) string {
	heads := n.spec.Heads
	width := n.spec.Width / heads
	x = n.op("Reshape", []string{n.linear(x, name+"qkv"), n.ints(0, 0, 3, heads, width)})
	part := func(i int, order []int) string {
		one := n.op("Gather", []string{x, n.integer(i)}, attribute{"axis", 2}) // [N,T,heads,width]
		return n.op("Transpose", []string{one}, attribute{"perm", order})
	}
	scores := n.op("MatMul", []string{part(0, []int{0, 2, 1, 3}), part(1, []int{0, 2, 3, 1})})
	scores = n.op("Mul", []string{scores, n.float(1 / math.Sqrt(float64(width)))})
	seen := n.op("MatMul", []string{n.op("Softmax", []string{scores}, attribute{"axis", -1}), part(2, []int{0, 2, 1, 3})})
	seen = n.op("Transpose", []string{seen}, attribute{"perm", []int{0, 2, 1, 3}})
	return n.linear(n.op("Reshape", []string{seen, n.ints(0, 0, n.spec.Width)}), name+"proj")
}

// norm adds a LayerNorm with γ and β.
func (n transformer) norm(x, name string) string {
	eps := n.eps
	if eps == 0 {
		eps = 1e-6
	}
	return n.layerNorm(x, n.weight(n.name(name+".weight")), n.weight(n.name(name+".bias")), eps)
}

// layerNorm adds a LayerNorm over the last axis, without β if beta is "".
func (g *graph) layerNorm(x, gamma, beta string, eps float32) string {
	inputs := []string{x, gamma, beta}
	if beta == "" {
		inputs = inputs[:2]
	}
	return g.op("LayerNormalization", inputs, attribute{"axis", -1}, attribute{"epsilon", eps})
}

// linear adds x·Wᵀ + b over the last axis. A runtime folds the transposition of the constant
// when it loads the file.
func (n transformer) linear(x, name string) string {
	w := n.op("Transpose", []string{n.weight(n.name(name + ".weight"))}, attribute{"perm", []int{1, 0}})
	return n.op("Add", []string{n.op("MatMul", []string{x, w}), n.weight(n.name(name + ".bias"))})
}

// gelu adds x·(1 + erf(x/√2))/2, since opset 17 has no GELU operator.
func (n transformer) gelu(x string) string {
	e := n.op("Erf", []string{n.op("Div", []string{x, n.float(math.Sqrt2)})})
	e = n.op("Mul", []string{x, n.op("Add", []string{e, n.float(1)})})
	return n.op("Mul", []string{e, n.float(0.5)})
}

// hidden exports a backbone.Vectors.
type hidden struct {
	transformer
	of backbone.Vectors
}

func (n hidden) features(x string) string {
	if n.of.Hidden == 0 {
		return x
	}
	return n.gelu(n.linear(x, "hidden"))
}
