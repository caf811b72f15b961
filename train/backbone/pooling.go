package backbone

import (
	"hgld/internal/registry"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
)

// Pooling turns features [N,H,W,C] into one vector [N,C] for each image.
type Pooling struct {
	New func(c nn.Scope) nn.Layer // declares the parameters, if there are any, and returns the layer
	// ONNX adds the layer to a graph and returns the name of its result. x [N,C,H,W] names the
	// features; a parameter p of New is the weight "pooling.p".
	ONNX func(g Graph, x string) string
}

// Poolings lists the poolings.
var Poolings = registry.Table[Pooling]{
	{Name: "gem", About: "generalised mean with a trained exponent that starts at 3", Value: gem},
	{Name: "gem-frozen", About: "generalised mean with the exponent 3", Value: gemFrozen},
	{Name: "avg", About: "mean over the image", Value: global(device.AvgPool, "GlobalAveragePool")},
	{Name: "max", About: "maximum over the image", Value: global(device.MaxPool, "GlobalMaxPool")},
	{Name: "mean-max", About: "sum of the mean and the maximum over the image", Value: meanMax},
	{Name: "none", About: "for backbones that return one vector per image", Value: noPooling},
}

const gemExponent, gemEps = 3, 1e-6

var gem = Pooling{
	New:  func(c nn.Scope) nn.Layer { return nn.NewGeM(c).Forward },
	ONNX: func(g Graph, x string) string { return gemGraph(g, x, g.Weight("pooling.p")) },
}

var gemFrozen = Pooling{
	New:  func(nn.Scope) nn.Layer { return cubicMean },
	ONNX: func(g Graph, x string) string { return gemGraph(g, x, g.Floats(gemExponent)) },
}

// gemGraph computes (mean of max(x, ε)^p)^(1/p). p is a vector of one number.
func gemGraph(g Graph, x, p string) string {
	power := g.Op("Pow", g.Op("Max", x, g.Float(gemEps)), p)
	return g.Op("Flatten", g.Op("Pow", g.Op("GlobalAveragePool", power), g.Op("Reciprocal", p)))
}

// cubicMean is nn.GeM with a constant exponent.
func cubicMean(t *grad.Tape, x *grad.Var) *grad.Var {
	p := t.New(device.F32, 1)
	t.Do(func(b device.Backend) { b.Fill(p.Value, gemExponent) })
	y := t.New(x.Value.Type, x.Value.Dims[0], x.Value.Dims[3])
	t.Do(func(b device.Backend) { b.GeM(y.Value, x.Value, p.Value, gemEps) })
	t.Back(func(b device.Backend) {
		if dx := t.Into(x); !dx.Absent() {
			b.GeMGrad(dx, device.Array{}, t.Grad(y), x.Value, y.Value, p.Value, gemEps, 0)
		}
	}, x, y, p)
	t.Done(p)
	return y
}

// global pools the whole image. node is the equivalent ONNX operator.
func global(mode device.PoolMode, node string) Pooling {
	return Pooling{
		New: func(nn.Scope) nn.Layer {
			return func(t *grad.Tape, x *grad.Var) *grad.Var { return nn.GlobalPool(t, x, mode) }
		},
		ONNX: func(g Graph, x string) string { return g.Op("Flatten", g.Op(node, x)) },
	}
}

// meanMax is the sum of the mean and the maximum over each image.
var meanMax = Pooling{
	New: func(nn.Scope) nn.Layer {
		return func(t *grad.Tape, x *grad.Var) *grad.Var {
			mean, most := nn.GlobalPool(t, x, device.AvgPool), nn.GlobalPool(t, x, device.MaxPool)
			y := nn.Add(t, mean, most)
			t.Done(mean)
			t.Done(most)
			return y
		}
	},
	ONNX: func(g Graph, x string) string {
		return g.Op("Flatten", g.Op("Add", g.Op("GlobalAveragePool", x), g.Op("GlobalMaxPool", x)))
	},
}

var noPooling = Pooling{
	New:  func(nn.Scope) nn.Layer { return same },
	ONNX: func(_ Graph, x string) string { return x },
}
