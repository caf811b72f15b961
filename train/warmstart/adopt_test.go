package warmstart

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/config"
)

// adopting is a configuration of weights with files beside them.
func adopting(t *testing.T, name string, files map[string]string) config.Config {
	t.Helper()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "model.safetensors"), nil, 0o644))
	for file, text := range files {
		must.Do(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	}
	c := config.Default()
	c.Model.Backbone.Name, c.Model.Pooling, c.Model.Weights = name, "none", filepath.Join(dir, "model.safetensors")
	return c
}

const dinoProcessor = `{"crop_size": {"height": 224, "width": 224}, "do_center_crop": true, "resample": 3,
	"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225], "size": {"shortest_edge": 256}}`

func TestSettingsThatWereNotGivenAreThoseOfTheWeights(t *testing.T) {
	for what, c := range map[string]struct {
		name  string
		files map[string]string
		given map[string]any // changes
		want  func(c config.Config) bool
		notes []string
		none  string // no note has it
	}{
		"DINOv2, transformers": {"dinov2-small", map[string]string{"preprocessor_config.json": dinoProcessor,
			"config.json": `{"model_type": "dinov2", "image_size": 518, "hidden_act": "gelu"}`}, nil,
			func(c config.Config) bool {
				return c.Input.Filter == "bicubic" && c.Input.Size == 224 && c.Input.Resize == 256
			},
			[]string{"input.filter=bicubic"}, "size"},
		"DINOv2, timm": {"dinov2-small", map[string]string{"config.json": `{"architecture": "vit_small_patch14_dinov2",
			"pretrained_cfg": {"input_size": [3, 518, 518], "crop_pct": 1.0}}`}, nil,
			func(c config.Config) bool {
				return c.Input.Size == 518 && c.Input.Resize == 518 && c.Model.Backbone.Settings["input"] == 518
			}, []string{"input.size=518", "model.backbone.settings.input=518"}, "is"},
		"DINOv2 by timm's name, smaller": {"vit_small_patch14_dinov2.lvd142m", nil, map[string]any{"input.size": 112},
			func(c config.Config) bool {
				return c.Model.Backbone.Name == "dinov2-small" && c.Input.Size == 112 && c.Input.Resize == 112 &&
					c.Model.Backbone.Settings["input"] == 112
			}, []string{"input.size is 112, but the name vit_small_patch14_dinov2.lvd142m states 518"}, "zzz"},
		"a processor before a config": {"clip-b32", map[string]string{
			"preprocessor_config.json": `{"size": {"shortest_edge": 224}, "crop_size": 224, "resample": 3}`,
			"config.json":              `{"architecture": "a", "pretrained_cfg": {"input_size": [3, 256, 256], "interpolation": "bilinear"}}`}, nil,
			func(c config.Config) bool {
				return c.Input.Size == 224 && c.Input.Resize == 224 && c.Input.Filter == "bicubic"
			}, nil, "256"},
		"SigLIP squashes": {"siglip-b16", map[string]string{"preprocessor_config.json": `{"size": {"height": 224, "width": 224}}`}, nil,
			func(c config.Config) bool { return c.Input.Squash && c.Input.Resize == 224 }, []string{"input.squash=true"}, "zzz"},
		"a mean of the user's": {"clip-b32", map[string]string{"preprocessor_config.json": `{"image_mean": [0.4815, 0.4578, 0.4082],
			"image_std": [0.2686, 0.2613, 0.2758]}`}, map[string]any{"input.std": [3]float32{0.5, 0.5, 0.5}},
			func(c config.Config) bool { return c.Input.Std[0] == 0.5 },
			[]string{"input.std is [0.5 0.5 0.5], but", "states [0.2686 0.2613 0.2758]"}, "zzz"},
		"the network's own mean": {"clip-b32", map[string]string{"preprocessor_config.json": `{"image_mean": [0.4815, 0.4578, 0.4082],
			"image_std": [0.2686, 0.2613, 0.2758]}`}, nil, func(c config.Config) bool { return c.Input.Std[0] == 0 }, nil, "input"},
		"an activation": {"clip-b32", map[string]string{"open_clip_config.json": `{"model_cfg": {"vision_cfg": {"width": 768}}}`}, nil,
			func(c config.Config) bool { return c.Model.Backbone.Settings["activation"] == "gelu" },
			[]string{"activation=gelu"}, "heads"},
		"heads": {"clip-b32", map[string]string{"config.json": `{"model_type": "clip", "vision_config": {"num_attention_heads": 8}}`}, nil,
			func(c config.Config) bool { return c.Model.Backbone.Settings["heads"] == 8 }, []string{"heads=8"}, "zzz"},
		"an epsilon": {"dinov2-small", map[string]string{"config.json": `{"model_type": "dinov2", "layer_norm_eps": 1e-12}`}, nil,
			func(c config.Config) bool { return true },
			[]string{"ε of 1e-12 for its norms, but dinov2-small computes with 1e-06"}, "zzz"},
		"padding, and sizes of the user's": {"clip-b32", map[string]string{"config.json": `{"architecture": "a", "crop_mode": "border"}`},
			map[string]any{"input.resize": 224}, func(c config.Config) bool { return c.Input.Resize == 224 },
			[]string{"crop_mode border"}, "zzz"},
		"a model of texts": {"clip-b32", map[string]string{"config.json": `{"model_type": "bert"}`}, nil,
			func(c config.Config) bool { return c.Input.Resize == 256 },
			[]string{"is not read: it describes a model of the type bert"}, "zzz"},
		"nothing": {"clip-b32", nil, nil, func(c config.Config) bool { return c.Input.Filter == "bilinear" }, nil, "input"},
	} {
		config := adopting(t, c.name, c.files)
		for key, value := range c.given {
			switch value := value.(type) {
			case int:
				if key == "input.size" {
					config.Input.Size = value
				} else {
					config.Input.Resize = value
				}
			case [3]float32:
				config.Input.Mean, config.Input.Std = value, value
			}
		}
		a, err := Adopt(&config, func(key string) bool { return c.given[key] != nil })
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		notes := strings.Join(a.Notes, "\n")
		if !c.want(config) || slices.ContainsFunc(c.notes, func(n string) bool { return !strings.Contains(notes, n) }) ||
			strings.Contains(notes, c.none+"=") || strings.Contains(notes, c.none+" is") {
			t.Errorf("%s: %+v, %+v\n%s", what, config.Input, config.Model, notes)
		}
		if err := config.Check(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestWeightsThatNeedWhatIsNotThereAreRefused(t *testing.T) {
	for want, c := range map[string]struct{ name, file, text string }{
		"states the activation \"relu\", but dinov2-small computes gelu": {"dinov2-small", "config.json",
			`{"model_type": "dinov2", "hidden_act": "relu"}`},
		"states the activation \"relu\", which hgld does not have": {"clip-b16", "config.json",
			`{"model_type": "clip_vision_model", "hidden_act": "relu"}`},
		"states the filter \"nearest\", which": {"clip-b16", "preprocessor_config.json", `{"resample": 0}`},
		"states crop_mode border, which":       {"clip-b16", "config.json", `{"architecture": "a", "crop_mode": "border"}`},
		"config.json: unexpected end":          {"clip-b16", "config.json", `{`},
	} {
		cfg := adopting(t, c.name, map[string]string{c.file: c.text})
		_, err := Adopt(&cfg, func(string) bool { return false })
		if !errors.As(err, new(*config.Error)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
