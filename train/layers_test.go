package train

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device/cpu"
	"hgld/train/testing/places"
)

// factorsOf returns the share of the rate by the name of a parameter of a backbone.
func factorsOf(t *testing.T, name string, decay float64) map[string]float64 {
	t.Helper()
	c, d := tiny(1)
	c.Model.Backbone, c.Model.Pooling = config.Named{Name: name}, "gem"
	if name == "vit-small" {
		c.Model.Backbone.Settings = map[string]any{"width": 24, "heads": 2, "input": 32}
		c.Model.Pooling, c.Input.Size, c.Input.Resize = "none", 32, 32
	}
	c.Optim.LayerDecay, c.Sampler.Batch, c.Sampler.M = decay, 4, 2
	r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)})
	must.Do(t, err)
	defer r.Close()
	factors := map[string]float64{}
	for i, g := range r.network.Store.Groups {
		for _, p := range g.Params {
			factors[p.Name()] = 1
			for _, s := range r.step.Update.Groups()[i].Spans {
				if s.Lo <= p.Value.Off && p.Value.Off < s.Hi {
					factors[p.Name()] = s.Factor
				}
			}
		}
	}
	return factors
}

// The exponents are those of timm's param_groups_layer_decay: 12 blocks between stem and head, or the
// 8 blocks of a ResNet-18; the last norm goes with the last block.
func TestRatesDecayByLayer(t *testing.T) {
	const decay = 0.75
	for backbone, want := range map[string]map[string]float64{
		"vit-small": {"backbone.cls_token": 13, "backbone.pos_embed": 13, "backbone.patch_embed.proj.weight": 13,
			"backbone.blocks.0.attn.qkv.weight": 12, "backbone.blocks.11.mlp.fc2.bias": 1, "backbone.norm.weight": 1,
			"fc.weight": 0},
		"resnet18": {"backbone.conv1.weight": 9, "backbone.bn1.bias": 9, "backbone.layer1.0.conv1.weight": 8,
			"backbone.layer2.0.downsample.0.weight": 6, "backbone.layer4.1.bn2.weight": 1, "fc.weight": 0},
		"convnet": {"backbone.conv1.weight": 4, "backbone.bn1.weight": 4, "backbone.conv4.weight": 1, "fc.weight": 0},
	} {
		factors := factorsOf(t, backbone, decay)
		for name, exponent := range want {
			if got, known := factors[name]; !known || math.Abs(got-math.Pow(decay, exponent)) > 1e-12 { // rounding
				t.Errorf("%s: %s has %v of the rate (known: %v), want %v^%v", backbone, name, got, known, decay, exponent)
			}
		}
	}
}

// A decay of 0 leaves a run as it was: its checkpoint does not even name the setting.
func TestNoLayerDecayIsNotRecorded(t *testing.T) {
	for name, factor := range factorsOf(t, "convnet", 0) {
		if factor != 1 {
			t.Errorf("%s has %v of the rate", name, factor)
		}
	}
	keys, err := checkpoint.Flat(config.Default())
	if _, named := keys["optim.layer_decay"]; err != nil || named {
		t.Errorf("a checkpoint names optim.layer_decay (%v)", err)
	}
}

// The parameters of a group that are stepped alike lie side by side, and the optimizer is called
// once for them.
func TestParametersSteppedAlikeAreOneCall(t *testing.T) {
	for _, set := range []struct {
		noDecay []string
		decay   float64
		calls   int // two groups; four layers
	}{{nil, 0, 2}, {[]string{"1d"}, 0, 4}, {[]string{"1d"}, 0.75, 2*4 + 2}} {
		c := config.Default()
		c.Model.Backbone.Name, c.Optim.NoDecay, c.Optim.LayerDecay = "convnet", set.noDecay, set.decay
		c.Sampler.Batch, c.Sampler.M, c.Steps = 8, 4, 1
		e, err := Plan(c, Data{Train: &places.Set{Forms: 8, PerForm: 16, Views: 4, Size: 8}})
		must.Do(t, err)
		calls := 0
		for _, w := range e.Ops {
			if w.Op == "Adam" {
				calls = w.Calls
			}
		}
		if calls != set.calls {
			t.Errorf("without decay %v, layers by %v: %d calls of Adam, want %d", set.noDecay, set.decay, calls, set.calls)
		}
	}
}

// Moments are in checkpoints in the order of declaration, as before parameters were laid out by
// their settings: settings that make no difference give the same files.
func TestCheckpointsDoNotDependOnTheArrangement(t *testing.T) {
	files := func(noDecay ...string) map[string]string {
		c, d := tiny(2)
		c.Optim.Decay, c.Optim.Clip, c.Optim.NoDecay = 0, 0, noDecay
		dir := t.TempDir()
		mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
		list, err := checkpoint.List(dir)
		if err != nil || len(list) == 0 {
			t.Fatal(list, err)
		}
		all := map[string]string{}
		for _, name := range []string{checkpoint.ModelFile, checkpoint.OptimizerFile} {
			data, err := os.ReadFile(filepath.Join(list[len(list)-1], name))
			must.Do(t, err)
			all[name] = string(data)
		}
		return all
	}
	want, got := files(), files("1d")
	for name, data := range want {
		if got[name] != data {
			t.Errorf("%s differs", name)
		}
	}
}
