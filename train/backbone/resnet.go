package backbone

import (
	"fmt"
	"slices"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
)

// ResNet is the residual network of He et al., "Deep Residual Learning for Image Recognition",
// CVPR 2016, Table 1, with torchvision's names:
//
//	x ← ReLU(x′ + BN(conv(…)))        x′ = x, or BN(conv1×1(x)) where the shape changes
//
// It has a stem (7×7 convolution of stride 2, BatchNorm, ReLU, 3×3 maximum of stride 2) and four
// layers of 64, 128, 256, 512 channels. Every layer except the first halves the image. A block is
// two 3×3 convolutions, or a bottleneck: 1×1, 3×3, 1×1 with four times as many channels at the
// end. Images [N,H,W,4] → features [N,⌈H/32⌉,⌈W/32⌉,C].
//
// As in torchvision ("v1.5"), and unlike the paper, a bottleneck has its stride at the 3×3
// convolution. Published weights need it there.
type ResNet struct {
	Blocks     []int `range:"1 256"` // blocks of each of the four layers
	Bottleneck bool  // blocks are 1×1, 3×3, 1×1 instead of two 3×3
}

// resnetWidths are the channels of the four layers, before the expansion of a bottleneck.
var resnetWidths = [4]int{64, 128, 256, 512}

// expansion is the factor by which the last convolution of a bottleneck widens.
const expansion = 4

// resnetFiles maps the depth of a ResNet to torchvision's file, IMAGENET1K_V1.
var resnetFiles = map[int]string{
	18: "resnet18-f37072fd.pth", 34: "resnet34-b627a593.pth",
	50: "resnet50-0676ba61.pth", 101: "resnet101-63fe2227.pth",
}

// Depth is the number in the network's name: the layers with weights between the image and the
// classes.
func (s ResNet) Depth() int {
	depth, each := 2, 2
	if s.Bottleneck {
		each = 3
	}
	for _, n := range s.Blocks {
		depth += each * n
	}
	return depth
}

// Facts describes the network. Weights exist for the depths of torchvision.
func (s ResNet) Facts() Facts {
	f := Facts{Input: 224, Channels: s.widths(3), Heads: []string{"fc."}, Mean: imageNet[0], Std: imageNet[1],
		Filter: "bilinear", Resize: 256}
	if file := resnetFiles[s.Depth()]; file != "" {
		f.Weights = []Weights{{From: fmt.Sprintf("torchvision ResNet%d_Weights.IMAGENET1K_V1", s.Depth()), File: file}}
	}
	return f
}

// widths returns the output channels of a layer.
func (s ResNet) widths(layer int) int {
	if s.Bottleneck {
		return expansion * resnetWidths[layer]
	}
	return resnetWidths[layer]
}

type resnet struct {
	conv   *nn.Conv
	norm   *nn.BatchNorm
	layers [4][]*residual
	fc     *nn.Linear // nil without classes
}

// residual is a block: a chain of units, the last of which adds x.
type residual struct {
	units      []unitOf
	downsample *unitOf // applied to x; nil: x is added unchanged
}

// unitOf is a convolution with its BatchNorm.
type unitOf struct {
	conv *nn.Conv
	norm *nn.BatchNorm
}

// Build declares conv1.weight, bn1.weight, layer1.0.conv1.weight and so on.
func (s ResNet) Build(c nn.Scope, o Options) Backbone {
	if len(s.Blocks) != 4 || slices.Min(s.Blocks) < 1 {
		panic(fmt.Sprintf("backbone: resnet with blocks %v, want four numbers from 1", s.Blocks))
	}
	stem := newUnit(c, "conv1", "bn1", 3, 64, 7, nn.Square(2, 3), o)
	net := &resnet{conv: stem.conv, norm: stem.norm}
	in := 64
	for i, blocks := range s.Blocks {
		stride := 2
		if i == 0 {
			stride = 1
		}
		for k := range blocks {
			scope := c.In(fmt.Sprintf("layer%d", i+1)).In(fmt.Sprint(k))
			net.layers[i] = append(net.layers[i], s.block(scope, in, i, stride, o))
			in, stride = s.widths(i), 1
		}
	}
	if o.Classes > 0 {
		net.fc = nn.NewLinear(c.In("fc"), in, o.Classes)
	}
	return net
}

// block declares a block whose input has in channels.
func (s ResNet) block(c nn.Scope, in, layer, stride int, o Options) *residual {
	width, out := resnetWidths[layer], s.widths(layer)
	r := &residual{}
	if s.Bottleneck {
		r.units = []unitOf{
			newUnit(c, "conv1", "bn1", in, width, 1, nn.Square(1, 0), o),
			newUnit(c, "conv2", "bn2", width, width, 3, nn.Square(stride, 1), o),
			newUnit(c, "conv3", "bn3", width, out, 1, nn.Square(1, 0), o),
		}
	} else {
		r.units = []unitOf{
			newUnit(c, "conv1", "bn1", in, width, 3, nn.Square(stride, 1), o),
			newUnit(c, "conv2", "bn2", width, width, 3, nn.Square(1, 1), o),
		}
	}
	if stride != 1 || in != out {
		d := newUnit(c.In("downsample"), "0", "1", in, out, 1, nn.Square(stride, 0), o)
		r.downsample = &d
	}
	return r
}

func newUnit(c nn.Scope, conv, norm string, in, out, k int, shape device.ConvShape, o Options) unitOf {
	u := unitOf{nn.NewConv(c.In(conv), in, out, k, shape), nn.NewBatchNorm(c.In(norm), out)}
	u.norm.Frozen = o.FreezeNorm
	return u
}

func (u unitOf) forward(t *grad.Tape, x, residual *grad.Var, act device.Func) *grad.Var {
	return nn.ConvNormAct(t, x, u.conv, u.norm, residual, act)
}

// forward frees every value as soon as the next has been computed from it. It computes the
// shortcut last, so that only one other image is live at the same time.
func (r *residual) forward(t *grad.Tape, x *grad.Var) *grad.Var {
	last := len(r.units) - 1
	h := x
	for _, u := range r.units[:last] {
		next := u.forward(t, h, nil, device.ReLU)
		if h != x {
			t.Done(h)
		}
		h = next
	}
	short := x
	if r.downsample != nil {
		short = r.downsample.forward(t, x, nil, device.Identity)
	}
	y := r.units[last].forward(t, h, short, device.ReLU)
	t.Done(h)
	if short != x {
		t.Done(short)
	}
	return y
}

// Channels returns the width of the last layer.
func (n *resnet) Channels() int {
	blocks := n.layers[3]
	units := blocks[len(blocks)-1].units
	return units[len(units)-1].conv.Filters()
}

// Stages returns the stem, named maxpool after its last layer, and the four layers.
func (n *resnet) Stages() []Stage {
	stages := []Stage{{"maxpool", n.stem}}
	for i, blocks := range n.layers {
		stages = append(stages, Stage{fmt.Sprintf("layer%d", i+1), func(t *grad.Tape, x *grad.Var) *grad.Var {
			list := make([]nn.Layer, len(blocks))
			for k, b := range blocks {
				list[k] = b.forward
			}
			return nn.Chain(t, x, list...)
		}})
	}
	return stages
}

func (n *resnet) stem(t *grad.Tape, x *grad.Var) *grad.Var {
	h := nn.ConvNormAct(t, x, n.conv, n.norm, nil, device.ReLU)
	y := nn.Pool(t, h, device.PoolShape{Mode: device.MaxPool, H: 3, W: 3, StrideH: 2, StrideW: 2, PadH: 1, PadW: 1})
	t.Done(h)
	return y
}

// Logits applies the classifier to averaged features.
func (n *resnet) Logits(t *grad.Tape, x *grad.Var) []*grad.Var {
	return []*grad.Var{n.fc.Forward(t, x)}
}

// ONNX adds the stem and the layers.
func (s ResNet) ONNX(g Graph, x string) string {
	x = convGraph(g, x, "conv1", "bn1", 2, 3, true)
	x = g.Node("MaxPool", []string{x}, Attribute{"kernel_shape", []int{3, 3}}, Attribute{"strides", []int{2, 2}},
		Attribute{"pads", []int{1, 1, 1, 1}})
	for layer, blocks := range s.Blocks {
		for block := range blocks {
			stride := 1
			if layer > 0 && block == 0 {
				stride = 2
			}
			x = s.blockGraph(g, x, fmt.Sprintf("layer%d.%d.", layer+1, block), stride)
		}
	}
	return x
}

// blockGraph adds a residual block. A bottleneck applies its stride in the second convolution.
func (s ResNet) blockGraph(g Graph, x, name string, stride int) string {
	short := x
	if g.Has(Prefix + name + "downsample.0.weight") {
		short = convGraph(g, x, name+"downsample.0", name+"downsample.1", stride, 0, false)
	}
	if s.Bottleneck {
		x = convGraph(g, x, name+"conv1", name+"bn1", 1, 0, true)
		x = convGraph(g, x, name+"conv2", name+"bn2", stride, 1, true)
		x = convGraph(g, x, name+"conv3", name+"bn3", 1, 0, false)
	} else {
		x = convGraph(g, x, name+"conv1", name+"bn1", stride, 1, true)
		x = convGraph(g, x, name+"conv2", name+"bn2", 1, 1, false)
	}
	return g.Node("Relu", []string{g.Node("Add", []string{x, short})})
}
