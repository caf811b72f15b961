package backbone

import (
	"fmt"

	"hgld/internal/registry"
	"hgld/train/grad"
	"hgld/train/nn"
)

// VectorsName is the name of the network that reads vectors instead of images.
const VectorsName = "vectors"

// OfVectors lists the networks that read vectors [N,Width] of another model, for heads trained on
// them. They are not in All, whose networks read images.
var OfVectors = registry.Table[Spec]{
	{Name: VectorsName, About: "frozen vectors of another model, followed by a hidden layer if hidden is set",
		Value: Vectors{}},
}

// Vectors is what precedes a head on frozen vectors: nothing, or with Hidden a linear layer and
// GELU.
type Vectors struct {
	Width  int `range:"0 65536"` // of a vector; 0: taken from the data
	Hidden int `range:"0 65536"` // outputs of the hidden layer; 0: none
}

type vectors struct {
	width  int
	hidden *nn.Linear // nil: none
}

// Build declares hidden.weight and hidden.bias, if there is a hidden layer.
func (s Vectors) Build(c nn.Scope, _ Options) Backbone {
	if s.Hidden == 0 {
		return &vectors{width: s.Width}
	}
	return &vectors{width: s.Hidden, hidden: nn.NewLinear(c.In("hidden"), s.Width, s.Hidden)}
}

// Facts says that there is nothing to pool.
func (s Vectors) Facts() Facts {
	f := Facts{Channels: s.Width, Vector: true, Std: [3]float32{1, 1, 1}, Filter: "bicubic"}
	if s.Hidden > 0 {
		f.Channels = s.Hidden
	}
	return f
}

// Check returns an error if the settings do not describe a network.
func (s Vectors) Check() error {
	if s.Width < 0 || s.Hidden < 0 {
		return fmt.Errorf("width is %d and hidden %d; want numbers from 0 up", s.Width, s.Hidden)
	}
	return nil
}

// Channels returns the width of the features.
func (v *vectors) Channels() int { return v.width }

// Stages returns the hidden layer, if there is one.
func (v *vectors) Stages() []Stage {
	if v.hidden == nil {
		return nil
	}
	return []Stage{{"hidden", func(t *grad.Tape, x *grad.Var) *grad.Var {
		y := v.hidden.Forward(t, x)
		z := nn.GELU(t, y)
		t.Done(y)
		return z
	}}}
}

// ONNX adds the hidden layer, if there is one.
func (s Vectors) ONNX(g Graph, x string) string {
	if s.Hidden == 0 {
		return x
	}
	n := transformerGraph{Graph: g}
	return n.gelu(n.linear(x, "hidden"))
}
