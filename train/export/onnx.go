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
	"hgld/train/backbone"
	"hgld/train/config"
)

// Opset is the ONNX operator set of the files: 17, the first with LayerNormalization.
// IRVersion is the format version that belongs to it (ONNX 1.12, June 2022).
const (
	Opset     = 17
	IRVersion = 8
)

// largest is the limit of protocol buffer readers: 2 GiB minus one byte.
const largest = math.MaxInt32

// ONNX writes the network that c describes, with the given tensors (evaluation.Model.Weights). The
// graph embeds as an evaluation does: BatchNorm uses its running statistics, and the result is
// the mean over input.scales if any are set. Equal arguments produce equal bytes.
func ONNX(w io.Writer, c config.Config, tensors []tensorfile.Tensor) error {
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
	n := &net{graph: g, spec: spec, config: c.Model, channels: spec.Facts().Channels}
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
func model(body message, c config.Config) (message, error) {
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
func facts(c config.Config) (map[string]string, error) {
	input, err := json.Marshal(c.Input)
	if err != nil {
		return nil, err
	}
	model, err := json.Marshal(c.Model)
	return map[string]string{backbone.InputKey: string(input), backbone.ModelKey: string(model)}, err
}

// net exports the layers after the backbone.
type net struct {
	*graph
	spec     backbone.Spec
	config   config.Architecture
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
			copied = n.Node("Resize", []string{images, "", n.Floats(1, 1, float32(s), float32(s))},
				attribute{Name: "mode", Value: "linear"}, attribute{Name: "coordinate_transformation_mode", Value: "align_corners"})
		}
		list = append(list, n.projected(copied))
	}
	mean := list[0]
	if len(list) > 1 {
		mean = n.Node("Mean", list)
	}
	n.opTo("embeddings", "Div", []string{mean, n.length(mean)})
}

// length adds max(‖x‖, 1e-12) per row, the divisor of the normalisation.
func (n *net) length(x string) string {
	norm := n.Node("ReduceL2", []string{x}, attribute{Name: "axes", Value: []int{1}},
		attribute{Name: "keepdims", Value: 1})
	return n.Node("Max", []string{norm, n.Float(1e-12)})
}

// projected adds the backbone, the pooling, the standardisation and the projection.
func (n *net) projected(images string) string {
	x := n.standard(n.pooled(n.spec.ONNX(n.graph, images)))
	if n.config.Dim > 0 {
		x = n.Node("Gemm", []string{x, n.Weight("fc.weight"), n.Weight("fc.bias")}, attribute{Name: "transB", Value: 1})
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
	return pooling.ONNX(n.graph, x)
}

// standard adds the standardisation, an entry of backbone.Standards.
func (n *net) standard(x string) string {
	switch n.config.Standard {
	case "none":
		return x
	case "l2":
		return n.Node("Div", []string{x, n.length(x)})
	case "layernorm": // the operator requires γ; the network has none, so pass ones
		ones := make([]float32, n.channels)
		for i := range ones {
			ones[i] = 1
		}
		return n.Node("LayerNormalization", []string{x, n.Floats(ones...)}, attribute{Name: "axis", Value: -1},
			attribute{Name: "epsilon", Value: float32(1e-5)})
	}
	n.fail("standard", n.config.Standard)
	return x
}

func (n *net) fail(what, name string) {
	n.err = errors.Join(n.err, fmt.Errorf("export: %s %.80q has no ONNX form", what, name))
}
