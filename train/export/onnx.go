// Package export writes a trained network and its embeddings for other programs: safetensors
// with the names of torchvision and timm, ONNX, and embeddings as Parquet.
//
// An ONNX file has one input and one output. The input "images" is F32 [batch, 3, height,
// width]: pixels that were decoded, resampled and cropped as configured and normalised by
// (pixel/255 − mean)/std. The output "embeddings" is F32 [batch, D] with rows of unit length.
// The input of a head on vectors of another model is "vectors", F32 [batch, D], as they are.
// The batch size is free, and so are height and width for a convolutional network. The file's
// metadata records how to prepare the pixels.
package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"hgld/internal/tensorfile"
	"hgld/train"
	"hgld/train/backbone"
)

// Opset is the ONNX operator set of the files: 17, the first with LayerNormalization.
// IRVersion is the format version that belongs to it (ONNX 1.12, June 2022).
const (
	Opset     = 17
	IRVersion = 8
)

// largest is the limit of protocol buffer readers: 2 GiB minus one byte.
const largest = math.MaxInt32

// ONNX writes the network that c describes, with the given tensors (train.Model.Weights). The
// graph embeds as an evaluation does: BatchNorm uses its running statistics, and the result is
// the mean over input.scales if any are set. Equal arguments produce equal bytes.
func ONNX(w io.Writer, c train.Config, tensors []tensorfile.Tensor) error {
	spec, err := c.Backbone()
	if err != nil {
		return err
	}
	if facts := spec.Facts(); c.Input.Std == [3]float32{} { // the trainer applies the same defaults
		c.Input.Mean, c.Input.Std = facts.Mean, facts.Std
	}
	g := &graph{tensors: map[string]tensorfile.Tensor{}, declared: map[string]bool{}}
	for _, t := range tensors {
		g.tensors[t.Name] = t
	}
	features, err := backboneOf(g, spec)
	if err != nil {
		return err
	}
	n := &net{graph: g, features: features, config: c.Model, channels: spec.Facts().Channels}
	name, batch := "images", dim{name: "batch"}
	input := []dim{batch, {size: 3}, {size: c.Input.Size}, {size: c.Input.Size}}
	if !spec.Facts().Fixed {
		input[2], input[3] = dim{name: "height"}, dim{name: "width"}
	}
	if v, is := spec.(backbone.Vectors); is {
		name, input = "vectors", []dim{batch, {size: v.Width}}
	}
	n.embed(name, c.Input.Scales)
	if g.err != nil {
		return g.err
	}
	columns := c.Model.Dim
	if columns == 0 {
		columns = n.channels
	}
	var body message // GraphProto
	for _, node := range g.nodes {
		body.message(1, node)
	}
	body.text(2, "hgld")
	for _, t := range g.initialisers {
		body.message(5, t)
	}
	body.message(11, described(name, input...))
	body.message(12, described("embeddings", batch, dim{size: columns}))
	m, err := model(body, c)
	if err != nil {
		return err
	}
	if m.size > largest {
		return fmt.Errorf("export: the network has %d bytes, and an ONNX file at most %d", m.size, largest)
	}
	return m.write(w)
}

// model wraps a graph in a ModelProto.
func model(body message, c train.Config) (message, error) {
	var m, opset message
	m.number(1, IRVersion)
	m.text(2, "hgld")
	m.message(7, body)
	opset.text(1, "")
	opset.number(2, Opset)
	m.message(8, opset)
	facts, err := facts(c)
	if err != nil {
		return m, err
	}
	for _, key := range slices.Sorted(maps.Keys(facts)) {
		var entry message // StringStringEntryProto
		entry.text(1, key)
		entry.text(2, facts[key])
		m.message(14, entry)
	}
	return m, nil
}

// facts are the texts that an exported file carries: the preprocessing and the network, in JSON.
func facts(c train.Config) (map[string]string, error) {
	input, err := json.Marshal(c.Input)
	if err != nil {
		return nil, err
	}
	model, err := json.Marshal(c.Model)
	return map[string]string{backbone.InputKey: string(input), backbone.ModelKey: string(model)}, err
}

// features adds the backbone's nodes for an input. It returns the output's name: [N,C,H,W], or
// [N,C] for a transformer.
type features func(images string) string

// backboneOf returns the exporter of a backbone, which adds to g.
func backboneOf(g *graph, spec backbone.Spec) (features, error) {
	switch s := spec.(type) {
	case backbone.ResNet:
		return resnet{g, s}.features, nil
	case backbone.Convnet:
		return convnet{g, s}.features, nil
	case backbone.ViT:
		return transformer{graph: g, spec: s}.features, nil
	case backbone.DINOv2:
		return dinov2(g, s), nil
	case backbone.CLIP:
		return clip(g, s), nil
	case backbone.SigLIP:
		return siglip(g, s), nil
	case backbone.DeiT:
		plain := backbone.ViT{Width: s.Width, Depth: s.Depth, Heads: s.Heads, Patch: s.Patch, Input: s.Input}
		return transformer{graph: g, spec: plain}.features, nil
	case backbone.Vectors:
		return hidden{transformer{graph: g}, s}.features, nil
	}
	return nil, fmt.Errorf("export: %T has no ONNX form", spec)
}

// net exports the layers after the backbone.
type net struct {
	*graph
	features features
	config   train.Architecture
	channels int // channels of the features
}

// embed adds the whole network. With several scales it averages over copies of the image,
// resized bilinearly with aligned corners as in Retrieval.MultiScale.
func (n *net) embed(images string, scales []float64) {
	if len(scales) == 0 {
		scales = []float64{1}
	}
	var list []string
	for _, s := range scales {
		copied := images
		if s != 1 {
			copied = n.op("Resize", []string{images, "", n.floats(1, 1, float32(s), float32(s))},
				attribute{"mode", "linear"}, attribute{"coordinate_transformation_mode", "align_corners"})
		}
		list = append(list, n.projected(copied))
	}
	mean := list[0]
	if len(list) > 1 {
		mean = n.op("Mean", list)
	}
	n.opTo("embeddings", "Div", []string{mean, n.length(mean)})
}

// length adds max(‖x‖, 1e-12) per row, the divisor of the normalisation.
func (n *net) length(x string) string {
	norm := n.op("ReduceL2", []string{x}, attribute{"axes", []int{1}}, attribute{"keepdims", 1})
	return n.op("Max", []string{norm, n.float(1e-12)})
}

// projected adds the backbone, the pooling, the standardisation and the projection.
func (n *net) projected(images string) string {
	x := n.standard(n.pooled(n.features(images)))
	if n.config.Dim > 0 {
		x = n.op("Gemm", []string{x, n.weight("fc.weight"), n.weight("fc.bias")}, attribute{"transB", 1})
	}
	return x
}

// pooled adds the pooling, an entry of backbone.Poolings, which makes one vector per image.
func (n *net) pooled(x string) string {
	pooling, err := backbone.Poolings.Get("pooling", n.config.Pooling)
	if err != nil {
		n.err = errors.Join(n.err, fmt.Errorf("export: %w", err))
		return x
	}
	return pooling.ONNX(poolingGraph{n.graph}, x)
}

// poolingGraph is the view of a graph that poolings get.
type poolingGraph struct{ *graph }

// Op adds a node without attributes.
func (g poolingGraph) Op(kind string, inputs ...string) string { return g.op(kind, inputs) }

// Weight adds a tensor of the checkpoint as an initialiser.
func (g poolingGraph) Weight(name string) string { return g.weight(name) }

// Float adds a constant number.
func (g poolingGraph) Float(v float64) string { return g.float(v) }

// Floats adds a constant vector.
func (g poolingGraph) Floats(v ...float32) string { return g.floats(v...) }

// standard adds the standardisation, an entry of backbone.Standards.
func (n *net) standard(x string) string {
	switch n.config.Standard {
	case "none":
		return x
	case "l2":
		return n.op("Div", []string{x, n.length(x)})
	case "layernorm": // the operator requires γ; the network has none, so pass ones
		ones := make([]float32, n.channels)
		for i := range ones {
			ones[i] = 1
		}
		return n.layerNorm(x, n.floats(ones...), "", 1e-5)
	}
	n.fail("standard", n.config.Standard)
	return x
}

func (n *net) fail(what, name string) {
	n.err = errors.Join(n.err, fmt.Errorf("export: %s %.80q has no ONNX form", what, name))
}
