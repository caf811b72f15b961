package export

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/backbone"
	"hgld/train/config"
	"hgld/train/device/cpu"
	"hgld/train/nn"
)

// configOf returns a configuration with the named backbone, reduced in depth.
func configOf(name string) config.Config {
	c := config.Default()
	c.Model.Backbone = config.Named{Name: name}
	c.Model.Dim = 16
	if spec, err := backbone.All.Get("backbone", name); err == nil && spec.Facts().Vector {
		c.Model.Pooling = "none"
		c.Model.Backbone.Settings = map[string]any{"depth": 1, "width": 48, "heads": 3, "input": 32, "patch": 16}
		c.Input.Size, c.Input.Resize = 32, 36
	}
	if strings.HasPrefix(name, "resnet") {
		c.Model.Backbone.Settings = map[string]any{"blocks": []int{1, 2, 1, 1}}
	}
	return c
}

// weightsOf returns the tensors of a network with random weights.
func weightsOf(t *testing.T, c config.Config) []tensorfile.Tensor {
	t.Helper()
	spec, err := c.Backbone()
	must.Do(t, err)
	h := backbone.Head{Dim: c.Model.Dim}
	if h.Pooling, err = backbone.Poolings.Get("pooling", c.Model.Pooling); err != nil {
		t.Fatal(err)
	}
	s := nn.NewStore()
	backbone.NewRetrieval(s, spec, backbone.Options{}, h)
	b := cpu.New(1)
	s.Build(b, 1)
	tensors, err := s.Export(b)
	must.Do(t, err)
	return tensors
}

// field is a protocol buffer field in its wire format.
type field struct {
	number int
	value  uint64 // of a varint
	data   []byte
}

// fields parses a message.
func fields(t *testing.T, data []byte) (list []field) {
	t.Helper()
	varint := func() uint64 {
		v, n := binary.Uvarint(data)
		if n <= 0 {
			t.Fatal("a varint that does not end")
		}
		data = data[n:]
		return v
	}
	take := func(n uint64) []byte {
		if n > uint64(len(data)) {
			t.Fatalf("%d bytes announced, %d there", n, len(data))
		}
		part := data[:n]
		data = data[n:]
		return part
	}
	for len(data) > 0 {
		tag := varint()
		f := field{number: int(tag >> 3)}
		switch tag & 7 {
		case 0: // varint
			f.value = varint()
		case 2: // length-delimited
			f.data = take(varint())
		case 5: // 32-bit float
			f.data = take(4)
		default:
			t.Fatalf("wire type %d", tag&7)
		}
		list = append(list, f)
	}
	return list
}

// all returns the data of the fields with a given number.
func all(list []field, number int) (out [][]byte) {
	for _, f := range list {
		if f.number == number {
			out = append(out, f.data)
		}
	}
	return out
}

func text(list []field, number int) string {
	parts := all(list, number)
	if len(parts) == 0 {
		return ""
	}
	return string(parts[0])
}

func TestEveryBackboneHasAnONNXForm(t *testing.T) {
	for _, e := range backbone.All {
		if e.Name == "resnet34" || e.Name == "resnet101" || strings.Contains(e.Name, "-large") {
			continue // differ from others only in the number of blocks and their width
		}
		t.Run(e.Name, func(t *testing.T) {
			c := configOf(e.Name)
			tensors := weightsOf(t, c)
			var file bytes.Buffer
			must.Do(t, ONNX(&file, c, tensors))
			checkGraph(t, fields(t, file.Bytes()), tensors)
		})
	}
}

// checkGraph follows the values of a graph. Every value is defined before it is read, every
// tensor of the network is read, and the last node produces the output.
func checkGraph(t *testing.T, model []field, tensors []tensorfile.Tensor) {
	t.Helper()
	graph := fields(t, all(model, 7)[0])
	known, read := map[string]bool{"": true}, map[string]bool{}
	sizes := map[string]int{}
	for _, data := range all(graph, 5) {
		tensor := fields(t, data)
		name := text(tensor, 8)
		if known[name] {
			t.Errorf("%s is there twice", name)
		}
		known[name] = true
		sizes[name] = len(all(tensor, 9)[0])
	}
	known[text(fields(t, all(graph, 11)[0]), 1)] = true
	last := ""
	for _, data := range all(graph, 1) {
		node := fields(t, data)
		for _, in := range all(node, 1) {
			if !known[string(in)] {
				t.Errorf("%s reads %q, which is not there yet", text(node, 4), in)
			}
			read[string(in)] = true
		}
		last = text(node, 2)
		if known[last] {
			t.Errorf("%s is made twice", last)
		}
		known[last] = true
	}
	if out := text(fields(t, all(graph, 12)[0]), 1); out != "embeddings" || last != out {
		t.Errorf("the output is %q, the last node makes %q", out, last)
	}
	for _, x := range tensors {
		if !read[x.Name] || sizes[x.Name] != len(x.Data) {
			t.Errorf("%s%v is not read, or has %d bytes instead of %d", x.Name, x.Shape, sizes[x.Name], len(x.Data))
		}
	}
}

func TestONNXHasTheSameBytesEachTime(t *testing.T) {
	c := configOf("convnet")
	c.Input.Scales = []float64{1, 0.5}
	tensors := weightsOf(t, c)
	var first, second bytes.Buffer
	must.Do(t, ONNX(&first, c, tensors))
	if err := ONNX(&second, c, tensors); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("two files differ (%v)", err)
	}
	checkGraph(t, fields(t, first.Bytes()), tensors)
}

func TestONNXNamesAMissingTensor(t *testing.T) {
	c := configOf("convnet")
	tensors := weightsOf(t, c)[1:]
	if err := ONNX(io.Discard, c, tensors); err == nil || !strings.Contains(err.Error(), `no tensor "backbone.conv1.weight"`) {
		t.Error(err)
	}
}

func TestPoolingsAndStandardsHaveONNXForms(t *testing.T) {
	for _, pooling := range backbone.Poolings.Names() {
		for _, standard := range backbone.Standards.Names() {
			if pooling == "none" {
				continue // for transformers, which TestEveryBackboneHasAnONNXForm covers
			}
			c := configOf("convnet")
			c.Model.Pooling, c.Model.Standard = pooling, standard
			if err := ONNX(io.Discard, c, weightsOf(t, c)); err != nil {
				t.Errorf("%s, %s: %v", pooling, standard, err)
			}
		}
	}
}

func TestBackboneHasTheNamesOfItsLibrary(t *testing.T) {
	c := configOf("resnet18")
	c.Model.Backbone.Settings = nil
	tensors := weightsOf(t, c)
	own, err := Backbone(c, tensors)
	must.Do(t, err)
	var names []string
	for _, x := range own {
		names = append(names, x.Name)
	}
	for _, name := range []string{"conv1.weight", "layer4.1.bn2.running_var", "layer2.0.downsample.0.weight",
		"bn1.num_batches_tracked"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is missing", name)
		}
	}
	if slices.Contains(names, "fc.weight") {
		t.Error("the projection passes for the published classifier")
	}
	if len(names) != 120 { // torchvision's resnet18().state_dict() without the two tensors of fc
		t.Errorf("%d tensors", len(names))
	}
	if _, err := Backbone(c, tensors[2:]); err == nil || !strings.Contains(err.Error(), "conv1.weight") {
		t.Errorf("a net without conv1.weight: %v", err)
	}
}

// vectors returns four embeddings with classes at eleven levels, because label_10 sorts before
// label_2.
func vectors() *Embeddings {
	e := &Embeddings{Vectors: tensorfile.NewF32("embeddings", []int{4, 3},
		[]float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})}
	for level := range 11 {
		e.Levels = append(e.Levels, fmt.Sprint("level ", level))
	}
	for i := range 4 {
		e.IDs = append(e.IDs, fmt.Sprint("image, ", i))
		classes := make([]string, 11)
		for level := range classes {
			if i > 0 || level == 10 {
				classes[level] = fmt.Sprintf("%d/%d", i, level)
			}
		}
		e.Classes = append(e.Classes, classes)
	}
	return e
}

func TestParquetRoundTrips(t *testing.T) {
	e := vectors()
	var file bytes.Buffer
	must.Do(t, e.Parquet(&file))
	type row struct {
		ID        string    `parquet:"id"`
		Embedding []float32 `parquet:"embedding,list"`
		Finest    *string   `parquet:"label_0"`
		Third     *string   `parquet:"label_2"`
		Coarsest  *string   `parquet:"label_10"`
	}
	rows, err := parquet.Read[row](bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, r := range rows {
		if r.ID != e.IDs[i] || !slices.Equal(r.Embedding, []float32{float32(3 * i), float32(3*i + 1), float32(3*i + 2)}) {
			t.Errorf("row %d: %+v", i, r)
		}
		if r.Coarsest == nil || *r.Coarsest != fmt.Sprint(i, "/10") || i > 0 && *r.Third != fmt.Sprint(i, "/2") {
			t.Errorf("row %d has the classes %v and %v", i, r.Third, r.Coarsest)
		}
		if (r.Finest == nil) != (i == 0) {
			t.Errorf("row %d: no class is %v", i, r.Finest)
		}
	}
	var again bytes.Buffer
	if err := e.Parquet(&again); err != nil || !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Errorf("two files differ (%v)", err)
	}
}

func TestLabelsAreATable(t *testing.T) {
	e := vectors()
	e.Levels = e.Levels[:2]
	for i := range e.Classes {
		e.Classes[i] = e.Classes[i][:2]
	}
	var file bytes.Buffer
	must.Do(t, e.Labels(&file))
	want := "id,level 0,level 1\n\"image, 0\",,\n\"image, 1\",1/0,1/1\n\"image, 2\",2/0,2/1\n\"image, 3\",3/0,3/1\n"
	if file.String() != want {
		t.Errorf("%s", file.String())
	}
}

func TestParquetRefusesRowsThatDoNotFit(t *testing.T) {
	e := vectors()
	e.IDs = e.IDs[1:]
	if err := e.Parquet(io.Discard); err == nil {
		t.Error("3 images for 4 vectors were written")
	}
}
