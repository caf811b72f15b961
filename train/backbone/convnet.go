package backbone

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
)

// Convnet is a stack of 3×3 convolutions, each with BatchNorm and ReLU. A convolution that keeps
// size and width adds its input before the ReLU. With the defaults an image of 64×64 costs 0.04
// GFLOP and gives features 8×8×128 with a receptive field of 31×31 pixels. It is not a published
// network, but small enough for tests, the demo and a laptop.
type Convnet struct {
	Widths  []int `range:"1 8192"` // channels after each convolution
	Strides []int `range:"1 64"`   // of each convolution
}

type convnet struct {
	convs []*nn.Conv
	norms []*nn.BatchNorm
}

// Build declares conv1.weight, bn1.weight and so on.
func (s Convnet) Build(c nn.Scope, o Options) Backbone {
	if len(s.Widths) == 0 || len(s.Widths) != len(s.Strides) {
		panic(fmt.Sprintf("backbone: convnet with widths %v and strides %v, want as many of each", s.Widths, s.Strides))
	}
	net := &convnet{}
	in := 3
	for i, out := range s.Widths {
		shape := nn.Square(s.Strides[i], 1)
		net.convs = append(net.convs, nn.NewConv(c.In(fmt.Sprintf("conv%d", i+1)), in, out, 3, shape))
		norm := nn.NewBatchNorm(c.In(fmt.Sprintf("bn%d", i+1)), out)
		norm.Frozen = o.FreezeNorm
		net.norms = append(net.norms, norm)
		in = out
	}
	return net
}

// Channels returns the width of the last convolution.
func (n *convnet) Channels() int { return n.convs[len(n.convs)-1].Filters() }

// Facts describes the network for the images of the demo.
func (s Convnet) Facts() Facts {
	f := Facts{Input: 64, Mean: imageNet[0], Std: imageNet[1]}
	if len(s.Widths) > 0 {
		f.Channels = s.Widths[len(s.Widths)-1]
	}
	return f
}

// Stages returns the convolutions.
func (n *convnet) Stages() []Stage {
	stages := make([]Stage, len(n.convs))
	for i, conv := range n.convs {
		stages[i] = Stage{fmt.Sprintf("conv%d", i+1), func(t *grad.Tape, x *grad.Var) *grad.Var {
			var residual *grad.Var
			if conv.Shape.StrideH == 1 && x.Value.Dims[3] == conv.Filters() {
				residual = x
			}
			return nn.ConvNormAct(t, x, conv, n.norms[i], residual, device.ReLU)
		}}
	}
	return stages
}

// ONNX adds the convolutions.
func (s Convnet) ONNX(g Graph, x string) string {
	in := 3
	for i, out := range s.Widths {
		y := convGraph(g, x, fmt.Sprintf("conv%d", i+1), fmt.Sprintf("bn%d", i+1), s.Strides[i], 1, false)
		if s.Strides[i] == 1 && in == out {
			y = g.Node("Add", []string{y, x})
		}
		x, in = g.Node("Relu", []string{y}), out
	}
	return x
}
