package backbone_test

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/train/backbone"
	"hgld/train/nn"
	"hgld/train/nn/testing/nntest"
	"hgld/train/tensor"
)

// fitPCA finds the first k components of features [n,C].
func fitPCA(features *tensor.Tensor, k int) (*backbone.PCA, error) {
	f := new(backbone.Features)
	if err := f.Add(features); err != nil {
		return nil, err
	}
	return f.Fit(k)
}

func TestGoldenPCA(t *testing.T) {
	dir := goldens.Dir(t, "backbones")
	var cases []struct {
		Case       string
		Components int
	}
	goldens.ReadJSON(t, filepath.Join(dir, "pca.json"), &cases)
	f, err := tensorfile.OpenSafetensors(filepath.Join(dir, "pca.safetensors"))
	must.Do(t, err)
	defer f.Close()
	for _, c := range cases {
		t.Run("backbones/"+c.Case, func(t *testing.T) {
			x, err := tensor.Read(filepath.Join(dir, "pca.safetensors"), c.Case+"/features")
			must.Do(t, err)
			p, err := fitPCA(x, c.Components)
			must.Do(t, err)
			// The decomposition is float64, as the reference: what remains is the
			// rounding of W and b to float32.
			nntest.Near(t, "mean", p.Mean, read(t, f, c.Case+"/mean"), 1e-12)
			nntest.Near(t, "components", p.Components.RawMatrix().Data, read(t, f, c.Case+"/components"), 1e-10)
			nntest.Near(t, "variance", p.Variance, read(t, f, c.Case+"/explained_variance"), 1e-10)
			w, bias := p.Linear(true, 1)
			nntest.Near(t, "weight", wide(w.Data), read(t, f, c.Case+"/weight_whiten"), 1e-7)
			nntest.Near(t, "bias", wide(bias.Data), read(t, f, c.Case+"/bias_whiten"), 1e-7)
			_, plain := p.Linear(false, 1)
			nntest.Near(t, "bias without whitening", wide(plain.Data), read(t, f, c.Case+"/bias_plain"), 1e-7)
		})
	}
}

func TestGoldenDTypes(t *testing.T) {
	dir := goldens.Dir(t, "backbones")
	var want map[string]struct {
		Shape  []int
		Values []any `json:"values_as_float64"`
	}
	goldens.ReadJSON(t, filepath.Join(dir, "dtypes.json"), &want)
	tensors, meta, err := tensorfile.ReadAll(filepath.Join(dir, "dtypes.safetensors"))
	must.Do(t, err)
	if meta["format"] != "pt" || len(tensors) != len(want) {
		t.Errorf("metadata %v, %d tensors of %d", meta, len(tensors), len(want))
	}
	for _, x := range tensors {
		t.Run("backbones/dtypes."+x.Name, func(t *testing.T) {
			w, ok := want[x.Name]
			got, err := x.Float64()
			if err != nil || !ok || !slices.Equal(x.Shape, w.Shape) || len(got) != len(w.Values) {
				t.Fatalf("%v%v, want %v; %v", x.DType, x.Shape, w.Shape, err)
			}
			for i, v := range w.Values {
				number, ok := v.(float64)
				if !ok {
					number = map[any]float64{"inf": math.Inf(1), "-inf": math.Inf(-1), "nan": math.NaN()}[v]
				}
				if math.IsNaN(number) && math.IsNaN(got[i]) {
					continue
				}
				if got[i] != number || math.Signbit(got[i]) != math.Signbit(number) {
					t.Errorf("element %d is %v, want %v", i, got[i], v)
				}
			}
		})
	}
}

func TestPCARefusesFeaturesWithoutComponents(t *testing.T) {
	line := tensor.New(5, 3) // on a line: one direction
	for i := range 5 {
		line.Row(i)[0], line.Row(i)[1] = float32(i), 1
	}
	for _, c := range []struct {
		x    *tensor.Tensor
		k    int
		want string
	}{
		{line, 4, "want 1 to 3"}, {line, 0, "want 1 to 3"},
		{tensor.New(4, 2), 1, "row 0 of the features has length 0"}, {line, 3, "fewer than the 3 asked for"},
	} {
		if _, err := fitPCA(c.x, c.k); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v components: %v, want %q", c.k, err, c.want)
		}
	}
}

// small is a transformer that a test can afford.
func small(distilled bool) backbone.DeiT {
	return backbone.DeiT{ViT: backbone.ViT{Width: 12, Depth: 1, Heads: 3, Patch: 16, Input: 32}, Distilled: distilled}
}

// timm's starts: linear layers and positions of deviation 0.02, biases 0, the
// patches' projection as torch's Conv2d.
func TestTransformerStartsAsInTimm(t *testing.T) {
	b, s := backend(), nn.NewStore()
	backbone.DeiT{ViT: backbone.ViT{Width: 48, Depth: 1, Heads: 3, Patch: 16, Input: 64}, Distilled: true}.
		Build(s.Group("all"), backbone.Options{Classes: 40})
	s.Build(b, 1)
	all := nntest.Values[float64](t, s, b)
	for name, want := range map[string]float64{
		"blocks.0.attn.qkv.weight": 0.02, "blocks.0.mlp.fc2.weight": 0.02, "head_dist.weight": 0.02, "pos_embed": 0.02,
		"blocks.0.attn.proj.bias": 0, "head.bias": 0,
		"patch_embed.proj.weight": 1 / math.Sqrt(3*16*16*3), "patch_embed.proj.bias": 1 / math.Sqrt(3*16*16*3),
	} {
		square := 0.0
		for _, v := range all[name] {
			square += v * v
		}
		got := math.Sqrt(square / float64(len(all[name])))
		if !(math.Abs(got-want) <= 0.2*want) { // 48 numbers at least
			t.Errorf("%s starts with deviation %v, want %v", name, got, want)
		}
	}
}

func TestDistilledWeightsGoIntoThePlainNetwork(t *testing.T) {
	b := backend()
	from := nn.NewStore()
	small(true).Build(from.Group("all"), backbone.Options{Classes: 5})
	from.Build(b, 1)
	tensors, err := from.Export(b)
	must.Do(t, err)
	kept, _ := backbone.Pretrained(small(false), tensors)
	to := nn.NewStore()
	small(false).Build(to.Group("all"), backbone.Options{})
	to.Build(b, 2)
	must.Do(t, to.Import(b, kept, ""))
	whole, plain := nntest.Values[float64](t, from, b)["pos_embed"], nntest.Values[float64](t, to, b)["pos_embed"]
	nntest.Near(t, "positions", plain, slices.Concat(whole[:12], whole[24:]), 0)
}

func TestClassifierOfAFileIsLeftOut(t *testing.T) {
	kept, _ := backbone.Pretrained(specOf(t, "resnet18"), []tensorfile.Tensor{
		{Name: "conv1.weight"}, {Name: "fc.weight"}, {Name: "head.weight"}, {Name: "layer4.1.bn2.bias"},
	})
	if len(kept) != 2 || kept[0].Name != "conv1.weight" || kept[1].Name != "layer4.1.bn2.bias" {
		t.Errorf("%v", kept)
	}
}

func TestPrefixesOfTrainingProgramsAreLeftOut(t *testing.T) {
	spec := small(false)
	s := nn.NewStore()
	spec.Build(s.Group("all"), backbone.Options{})
	for prefix, others := range map[string][]string{
		"": nil, "module.": nil, "_orig_mod.": nil, "module._orig_mod.": nil, "model.": {"loss.weight"}, "encoder.": nil,
		"module.model.": nil, "model.encoder.": {"model.decoder.weight", "epoch"}, "module.encoder.": {"module.fc.weight"},
		"backbone.": {"head.mlp.0.weight"}, "module.backbone.": {"module.head.mlp.0.weight"}, "backbone.model.": nil,
		"model.backbone.module.": {"model.queue"}, "encoder.backbone._orig_mod.": nil,
	} {
		var tensors []tensorfile.Tensor
		for _, x := range s.Layout() {
			n := 1
			for _, d := range x.Dims {
				n *= d
			}
			tensors = append(tensors, tensorfile.NewF32(prefix+x.Name, x.Dims, make([]float32, n)))
		}
		for _, name := range others {
			tensors = append(tensors, tensorfile.NewF32(name, []int{1}, []float32{0}))
		}
		kept, wrapper := backbone.Pretrained(spec, tensors)
		if bad := s.Compare(kept, ""); bad != nil || wrapper != prefix {
			t.Errorf("%s: %v, without %s", prefix, bad, wrapper)
		}
	}
}

func TestSupRankCheckpointsHaveTheirBackboneTaken(t *testing.T) {
	for from, want := range map[string]string{
		"backbone.0.weight":                 "conv1.weight",
		"backbone.1.running_mean":           "bn1.running_mean",
		"backbone.4.0.conv1.weight":         "layer1.0.conv1.weight",
		"backbone.7.2.downsample.1.weight":  "layer4.2.downsample.1.weight",
		"backbone.blocks.0.attn.qkv.weight": "blocks.0.attn.qkv.weight",
		"backbone.layer1.0.conv1.weight":    "layer1.0.conv1.weight",
		"fc.weight":                         "", "head.3.weight": "", "pooling.p": "",
	} {
		kept, _ := backbone.Pretrained(specOf(t, "resnet18"), []tensorfile.Tensor{{Name: "backbone.1.bias"}, {Name: from}})
		got := ""
		if len(kept) == 2 {
			got = kept[1].Name
		}
		if got != want {
			t.Errorf("%s is read as %q, want %q", from, got, want)
		}
	}
}

func TestWeightsOfAnotherNetworkAreNamed(t *testing.T) {
	s := nn.NewStore()
	specOf(t, "resnet18").Build(s.Group("all"), backbone.Options{})
	err := error(s.Compare([]tensorfile.Tensor{{Name: "conv1.wieght", DType: "F32"}}, ""))
	var bad *nn.MismatchError
	if !errors.As(err, &bad) || !strings.Contains(err.Error(), "conv1.wieght (for conv1.weight?)") ||
		!strings.Contains(err.Error(), "and 92 more") {
		t.Errorf("%v", err)
	}
}
