package backbone

import (
	"fmt"
	"slices"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
)

// ResNet is the residual network of He et al., "Deep Residual Learning for Image
// Recognition", CVPR 2016, Table 1, under torchvision's names:
//
//	x ← ReLU(x′ + BN(conv(…)))        x′ = x, or BN(conv1×1(x)) where the shape changes
//
// A stem (7×7 convolution of stride 2, BatchNorm, ReLU, 3×3 maximum of stride 2)
// and four layers of 64, 128, 256, 512 channels; each but the first halves the
// image. A block is two 3×3 convolutions, or 1×1, 3×3, 1×1 with four times as many
// channels at the end (a bottleneck). Images [N,H,W,4] → features
// [N,⌈H/32⌉,⌈W/32⌉,C].
//
// As in torchvision, and unlike the paper, a bottleneck has its stride at the 3×3
// convolution ("v1.5"): published weights need it there.
type ResNet struct {
	Blocks     []int `range:"1 256"` // of each of the four layers
	Bottleneck bool  // blocks of 1×1, 3×3, 1×1 rather than two 3×3
}

// resnetWidths are the channels of the four layers, before a bottleneck widens.
var resnetWidths = [4]int{64, 128, 256, 512}

// expansion is by how much a bottleneck's last convolution widens.
const expansion = 4

// resnetFiles names torchvision's files, IMAGENET1K_V1, by the number of
// convolutions and the classifier.
var resnetFiles = map[int]string{
	18: "resnet18-f37072fd.pth", 34: "resnet34-b627a593.pth",
	50: "resnet50-0676ba61.pth", 101: "resnet101-63fe2227.pth",
}

// Depth is the number in the network's name: the layers with weights on the way
// from the image to the classes.
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

// Facts of a depth that torchvision has.
func (s ResNet) Facts() Facts {
	f := Facts{Input: 224, Channels: s.widths(3), Heads: []string{"fc."}, Mean: imageNet[0], Std: imageNet[1]}
	if file := resnetFiles[s.Depth()]; file != "" {
		f.Weights = []Weights{{From: fmt.Sprintf("torchvision ResNet%d_Weights.IMAGENET1K_V1", s.Depth()), File: file}}
	}
	return f
}

// widths returns the channels that a layer ends with.
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

// residual is a block: units one after the other, the last of which adds x.
type residual struct {
	units      []unitOf
	downsample *unitOf // what x goes through, nil for nothing
}

// unitOf is a convolution and its BatchNorm.
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

// block declares a block of a layer that takes in channels.
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

// forward frees every value as soon as the next has been computed from it. The shortcut
// comes last, so that it is live together with one other image only.
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

// Stages are the stem, called maxpool after its end, and the four layers.
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

// Logits is the classifier on averaged features.
func (n *resnet) Logits(t *grad.Tape, x *grad.Var) []*grad.Var {
	return []*grad.Var{n.fc.Forward(t, x)}
}
