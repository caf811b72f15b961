package backbone_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/effort"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/train/backbone"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/device/testing/conformance"
	"hgld/train/grad"
	"hgld/train/nn/testing/nntest"
)

// goldenCase is a case of cases.json.
type goldenCase struct {
	Model, Case, Mode string
	Input             ruleArray
	Out               []string
	Upstream          map[string]ruleArray
	Stages            []goldenStage
	GradParams        any      `json:"grad_params"` // names, or a sentence that means all
	RunningNames      []string `json:"running_names"`
	Scales            []float64
	Kink              float64 `json:"smallest_relu_input_over_rms"`
}

type goldenStage struct {
	Name      string
	Shape     []int
	Mean      float64
	Norm, Dot float64
	First     []float64 `json:"first4"`
}

func (c goldenCase) key() string { return c.Model + "/" + c.Case + "/" }

// goldenTensor is an entry of state_dicts.json: name, shape, type, kind and, if it
// is another's array under a second name, that other.
type goldenTensor struct {
	name, kind, shares string
	shape              []int
}

func (e *goldenTensor) UnmarshalJSON(data []byte) error {
	var dtype string
	return json.Unmarshal(data, &[]any{&e.name, &e.shape, &dtype, &e.kind, &e.shares})
}

// bench is what the cases share.
type bench struct {
	expected *tensorfile.File
	dicts    map[string][]goldenTensor
}

// large names the cases that compute what smaller ones of the list do, with more layers or pixels,
// or with another pooling, whose gradient a test of its own compares.
var large = regexp.MustCompile(`resnet_?101|^resnet34/|^resnet50/(96|224)|^net:resnet_ln(_gem)?/|deit_base|vit_base|` +
	`^deit_small_distilled_patch16_224/`)

func TestGoldenBackbones(t *testing.T) {
	dir := goldens.Dir(t, "backbones")
	var list struct{ Cases []goldenCase }
	goldens.ReadJSON(t, filepath.Join(dir, "cases.json"), &list)
	var g bench
	goldens.ReadJSON(t, filepath.Join(dir, "state_dicts.json"), &g.dicts)
	var err error
	if g.expected, err = tensorfile.OpenSafetensors(filepath.Join(dir, "expected.safetensors")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.expected.Close() })
	for _, c := range list.Cases {
		if large.MatchString(c.key()) && !effort.Long() {
			continue
		}
		t.Run("backbones/"+c.Model+"."+c.Case, func(t *testing.T) { g.run(t, c) })
		runtime.GC() // memory that is used again needs not be mapped again, which takes longer
	}
}

// run fills the network, records a forward and a backward pass and compares all
// that the case has.
func (g *bench) run(t *testing.T, c goldenCase) {
	s := subjectOf(t, c)
	b := conformance.CardOr(t, cpu.New(0))
	s.store.Allocate(b, 1)
	must.Do(t, s.store.Import(b, s.read(g.stateDict(t, c.Model)), ""))
	tape := grad.NewTape(b, device.NewArena(b))
	images := c.images(b)
	if c.Scales != nil {
		g.runScales(t, c, s.net, b, tape.Evaluate(), images)
		return
	}
	x := tape.Leaf(images, device.New(b, device.F32, images.Shape()...))
	seen := map[string]*grad.Var{}
	y := x
	for _, stage := range s.stages {
		y = tape.Keep(stage.Layer(tape, y))
		seen[stage.Name] = y
		g.compareStage(t, c, b, s.stageName(stage.Name), download(t, b, y.Value), y.Value)
		if strings.HasSuffix(stage.Name, "tokens") {
			g.compareStage(t, c, b, strings.TrimSuffix(stage.Name, "tokens")+"patch_embed", s.patches(t, b, y.Value),
				device.Array{})
		}
	}
	out := s.finish(tape, seen)
	for _, name := range c.Out {
		if out[name] == nil {
			t.Fatalf("no output %q", name)
		}
		nntest.Near(t, name, download(t, b, out[name].Value), read(t, g.expected, c.key()+"out."+name), c.tolerance().out)
	}
	g.compareRunning(t, c, s, b)
	if c.Upstream == nil {
		return
	}
	tape.Backward(sink(tape, b, c, out), device.Array{})
	g.compareGradients(t, c, s, b, x)
}

// stateDict fills the tensors of a model.
func (g *bench) stateDict(t *testing.T, model string) []tensorfile.Tensor {
	t.Helper()
	if from, ok := strings.CutSuffix(model, "_from_distilled"); ok {
		model = from + "_distilled_patch16_224"
	}
	if g.dicts[model] == nil {
		t.Fatalf("no state dict of %s", model)
	}
	var tensors []tensorfile.Tensor
	for _, e := range g.dicts[model] {
		name := e.name
		if e.shares != "" {
			name = e.shares
		}
		x := fill(t, name, e.shape, e.kind)
		x.Name = e.name
		tensors = append(tensors, x)
	}
	return tensors
}

// images uploads the input of a case.
func (c goldenCase) images(b device.Backend) device.Array {
	in := c.Input.Shape
	return uploadImages(b, wide(c.Input.values()), in[0], in[1], in[2], in[3])
}

// runScales compares the multi-scale embedding and that of each scale alone.
func (g *bench) runScales(t *testing.T, c goldenCase, net *backbone.Retrieval, b device.Backend, tape *grad.Tape,
	images device.Array) {
	x := tape.Leaf(images, device.Array{})
	for _, name := range c.Out {
		scales := c.Scales
		if name != "embedding" {
			scales = slices.DeleteFunc(slices.Clone(scales),
				func(s float64) bool { return fmt.Sprintf("scale_%.4f", s) != name })
		}
		y := tape.Keep(net.MultiScale(tape, x, scales))
		nntest.Near(t, name, download(t, b, y.Value), read(t, g.expected, c.key()+"out."+name), c.tolerance().out)
	}
}

// sink ends a computation: its gradient is 1, and that of the outputs is the
// upstream of the case.
func sink(tape *grad.Tape, b device.Backend, c goldenCase, out map[string]*grad.Var) *grad.Var {
	end := tape.New(device.F32, 1)
	for name, up := range c.Upstream {
		from := device.New(b, device.F32, up.Shape...)
		put(b, from, wide(up.values()))
		tape.Back(func(b device.Backend) { b.Copy(tape.Into(out[name]), from) })
	}
	return end
}

// learnable are the names in the file of what has a gradient, in its order.
func (g *bench) learnable(c goldenCase) []string {
	var names []string
	if list, ok := c.GradParams.([]any); ok {
		for _, n := range list {
			names = append(names, n.(string))
		}
		return names
	}
	for _, e := range g.dicts[c.Model] {
		if !slices.Contains([]string{"bn_mean", "bn_var", "zero"}, e.kind) && e.shares == "" {
			names = append(names, e.name)
		}
	}
	return names
}
