package export

import (
	"encoding/binary"
	"fmt"
	"math"

	"hgld/internal/tensorfile"
	"hgld/train/backbone"
)

// graph is an ONNX graph under construction. Nodes refer to values by name. Initialisers, the
// constants of a graph, are either named after the tensors of the checkpoint or numbered.
type graph struct {
	tensors map[string]tensorfile.Tensor // tensors of the checkpoint, read by weight

	nodes, initialisers []message
	declared            map[string]bool // initialisers added so far
	count               int             // number of generated names
	err                 error           // first error
}

type attribute = backbone.Attribute

// Type codes of AttributeProto and of TensorProto's elements, from onnx.proto.
const (
	attributeFloat = 1
	attributeInt   = 2
	attributeText  = 3
	attributeInts  = 7

	elementFloat = 1
	elementInt64 = 7
)

// Op adds a node without attributes.
func (g *graph) Op(kind string, inputs ...string) string { return g.Node(kind, inputs) }

// Node adds a node with one output and returns the output's name.
func (g *graph) Node(kind string, inputs []string, attributes ...attribute) string {
	g.count++
	return g.opTo(fmt.Sprintf("%s_%d", kind, g.count), kind, inputs, attributes...)
}

// opTo is Node with a given name for the output.
func (g *graph) opTo(output, kind string, inputs []string, attributes ...attribute) string {
	var n message // NodeProto
	for _, in := range inputs {
		n.text(1, in)
	}
	n.text(2, output)
	n.text(3, output)
	n.text(4, kind)
	for _, a := range attributes {
		n.message(5, encoded(a))
	}
	g.nodes = append(g.nodes, n)
	return output
}

// encoded returns an attribute as an AttributeProto.
func encoded(a attribute) message {
	var m message
	m.text(1, a.Name)
	kind := 0
	switch v := a.Value.(type) {
	case float32:
		m.float(2, v)
		kind = attributeFloat
	case int:
		m.number(3, int64(v))
		kind = attributeInt
	case string:
		m.text(4, v)
		kind = attributeText
	case []int:
		for _, i := range v {
			m.number(8, int64(i))
		}
		kind = attributeInts
	default:
		panic(fmt.Sprintf("export: attribute %s of type %T", a.Name, a.Value))
	}
	m.number(20, int64(kind))
	return m
}

// Weight adds a tensor of the checkpoint as an initialiser and returns its name.
func (g *graph) Weight(name string) string {
	t, ok := g.tensors[name]
	switch {
	case g.declared[name]:
		return name
	case !ok && g.err == nil:
		g.err = fmt.Errorf("export: the checkpoint has no tensor %.80q", name)
	case ok && t.DType != "F32" && g.err == nil:
		g.err = fmt.Errorf("export: tensor %.80q is %s, want F32", name, t.DType)
	}
	g.initialise(name, elementFloat, t.Shape, t.Data)
	return name
}

// Has reports whether the checkpoint contains a tensor.
func (g *graph) Has(name string) bool {
	_, ok := g.tensors[name]
	return ok
}

// ShapeOf returns the shape of a tensor of the checkpoint, which must have n dimensions.
// Otherwise it returns zeros and records the error.
func (g *graph) ShapeOf(name string, n int) []int {
	shape := g.tensors[name].Shape
	if len(shape) != n {
		if g.err == nil && g.Has(name) {
			g.err = fmt.Errorf("export: tensor %.80q is %v, want %d dimensions", name, shape, n)
		}
		return make([]int, n)
	}
	return shape
}

func (g *graph) initialise(name string, kind int64, shape []int, data []byte) {
	var t message // TensorProto
	for _, d := range shape {
		t.number(1, int64(d))
	}
	t.number(2, kind)
	t.text(8, name)
	t.bytes(9, data)
	g.initialisers = append(g.initialisers, t)
	g.declared[name] = true
}

func (g *graph) constant(kind int64, shape []int, data []byte) string {
	g.count++
	name := fmt.Sprintf("constant_%d", g.count)
	g.initialise(name, kind, shape, data)
	return name
}

// Ints adds a constant vector of int64 and returns its name.
func (g *graph) Ints(values ...int) string {
	return g.constant(elementInt64, []int{len(values)}, int64Bytes(values...))
}

// Integer adds a constant int64 and returns its name.
func (g *graph) Integer(v int) string { return g.constant(elementInt64, nil, int64Bytes(v)) }

func int64Bytes(values ...int) (data []byte) {
	for _, v := range values {
		data = binary.LittleEndian.AppendUint64(data, uint64(v))
	}
	return data
}

// Float adds a constant float32 and returns its name.
func (g *graph) Float(v float64) string {
	return g.constant(elementFloat, nil, float32Bytes(float32(v)))
}

// Floats adds a constant vector of float32 and returns its name.
func (g *graph) Floats(values ...float32) string {
	return g.constant(elementFloat, []int{len(values)}, float32Bytes(values...))
}

func float32Bytes(values ...float32) (data []byte) {
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

// dim is an axis of an input or output. It is a fixed size, or a name if any size is allowed.
type dim struct {
	name string
	size int
}

// described returns a ValueInfoProto of type F32.
func described(name string, dims ...dim) message {
	var shape, tensor, kind, m message
	for _, d := range dims {
		var one message
		if d.name == "" {
			one.number(1, int64(d.size))
		} else {
			one.text(2, d.name)
		}
		shape.message(1, one)
	}
	tensor.number(1, elementFloat)
	tensor.message(2, shape)
	kind.message(1, tensor)
	m.text(1, name)
	m.message(2, kind)
	return m
}
