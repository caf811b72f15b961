package train

import (
	"errors"
	"strings"
	"testing"

	"hgld/train/device/cpu"
)

func TestPixelsAreNormalisedAsTheBackboneWants(t *testing.T) {
	imageNet, half := [3]float32{0.485, 0.456, 0.406}, [3]float32{0.5, 0.5, 0.5}
	for name, want := range map[string][3]float32{"convnet": imageNet, "resnet50": imageNet, "deit-small": imageNet,
		"vit-base": half} {
		c := Default()
		c.Model.Backbone.Name = name
		if strings.Contains(name, "it-") {
			c.Model.Pooling = "none"
		}
		if _, err := c.resolve(); err != nil {
			t.Fatal(err)
		}
		if c.Input.Mean != want {
			t.Errorf("%s: mean %v, want %v", name, c.Input.Mean, want)
		}
	}
	c := Default()
	c.Input.Mean, c.Input.Std = [3]float32{}, [3]float32{1, 1, 1}
	if _, err := c.resolve(); err != nil || c.Input.Mean != [3]float32{} {
		t.Errorf("what is given became %v, %v", c.Input.Mean, err)
	}
}

func TestWrongNumbersAreNamed(t *testing.T) {
	for hint, change := range map[string]func(*Config){
		"ema.decay is 1, want":           func(c *Config) { c.EMA.Decay = 1 },
		"optim.clip is -1":               func(c *Config) { c.Optim.Clip = -1 },
		"optim.clip_value is -2":         func(c *Config) { c.Optim.ClipValue = -2 },
		"without input.std":              func(c *Config) { c.Input.Mean[0] = 1 },
		"input.std is [0 1 1]":           func(c *Config) { c.Input.Std = [3]float32{0, 1, 1} },
		`unknown projection "pac"`:       func(c *Config) { c.Model.Projection = "pac" },
		`schedule.proxies.name: unknown`: func(c *Config) { c.Schedule.Proxies.Name = "cosin" },
		"steps is -1":                    func(c *Config) { c.Steps = -1 },
		"optim.weight_decay is -0.1":     func(c *Config) { c.Optim.Decay = -0.1 },
		"model.dim is -2":                func(c *Config) { c.Model.Dim = -2 },
		"run.workers is -1":              func(c *Config) { c.Run.Workers = -1 },
		"beta1 is 2":                     func(c *Config) { c.Optim.Settings = map[string]any{"beta1": 2} },
		"momentum is -1":                 func(c *Config) { c.Optim.Named = Named{"sgd", map[string]any{"momentum": -1}} },
		"widths are [4] and strides [2":  func(c *Config) { c.Model.Backbone.Settings = map[string]any{"widths": []any{4}} },
		"blocks are [1 1]": func(c *Config) {
			c.Model.Backbone = Named{"resnet18",
				map[string]any{"blocks": []any{1, 1}}}
		},
		"a width that the heads divide": func(c *Config) {
			c.Model.Backbone = Named{"vit-small",
				map[string]any{"heads": 5}}
		},
		"a multiple of patch": func(c *Config) {
			c.Model.Backbone = Named{"deit-small",
				map[string]any{"patch": 15}}
		},
		"widths is 0, want": func(c *Config) { c.Model.Backbone.Settings = map[string]any{"widths": []any{0}} },
		"patch is 0, want": func(c *Config) {
			c.Model.Backbone = Named{"deit-small",
				map[string]any{"patch": 0}}
		},
		"the decoded images would take": func(c *Config) {
			c.Sampler.Batch, c.Input.Size, c.Input.Resize = 4096,
				4096, 0
		},
		"run.metrics: the list of metrics is empty": func(c *Config) { c.Run.Metrics = nil },
		"input.pad is 224, want":                    func(c *Config) { c.Input.Crop, c.Input.Pad = "padded", 224 },
		`unknown mining "hardd"`:                    func(c *Config) { c.Loss.Named = Named{"triplet", map[string]any{"mining": "hardd"}} },
		`did you mean "backbone"`:                   func(c *Config) { c.Schedule.Frozen = []string{"backbon"} },
		"length is -3":                              func(c *Config) { c.Schedule.Settings = map[string]any{"length": -3} },
		"milestones are [3 1]": func(c *Config) {
			c.Schedule.Named = Named{"multistep",
				map[string]any{"milestones": []any{3, 1}}}
		},
		"gamma -1": func(c *Config) { c.Schedule.Proxies = Named{"multistep", map[string]any{"gamma": -1}} },
		"length 5 and min": func(c *Config) {
			c.Schedule.Named = Named{"linear-cosine",
				map[string]any{"rise": 9, "length": 5}}
		},
		`did you mean "validation"`: func(c *Config) { c.Run.Watch = "validatoin" },
	} {
		c := Default()
		change(&c)
		if _, err := c.resolve(); !errors.As(err, new(*ConfigError)) || !strings.Contains(err.Error(), hint) {
			t.Errorf("want %q: error %v", hint, err)
		}
	}
}

// The rates of the published recipes, by their settings: SOP with its frozen epochs, of
// which no schedule knows, and the proxies' own cosine.
func TestSchedulesOfThePublishedRecipes(t *testing.T) {
	c := Default()
	c.Epochs, c.Schedule = 100, Schedule{Named: Named{Name: "cosine"}, Freeze: 5,
		Proxies: Named{Name: "cosine", Settings: map[string]any{"min": 0.1}}}
	p, err := c.resolve()
	if err != nil {
		t.Fatal(err)
	}
	u := &update{freeze: freezeOf(&c)}
	for epoch, want := range map[int][2]float64{1: {5e-5, 10}, 6: {5e-5, 10}, 7: {4.998766e-5, 9.997557},
		56: {2.5e-5, 5.05}, 100: {4.428187e-7, 0.187678}} {
		at := u.freeze.At(epoch)
		for i, got := range []float64{p.schedule.Rate(5e-5, at), p.proxyPlan.Rate(10, at)} {
			// as many digits as the numbers were given with
			if diff := got/want[i] - 1; diff > 1e-6 || diff < -1e-6 {
				t.Errorf("epoch %d: rate %v, want %v", epoch, got, want[i])
			}
		}
	}
}

// A batch among the settings of the sampler would be ignored.
func TestSamplersOwnBatchIsRefused(t *testing.T) {
	c, d := tiny(4)
	c.Sampler.Settings = map[string]any{"batch": 8}
	for what, err := range map[string]error{
		"check": c.Check(),
		"run":   func() error { _, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)}); return err }(),
	} {
		if !errors.As(err, new(*ConfigError)) || !strings.Contains(err.Error(),
			"sampler.settings.batch is 8: want sampler.batch alone") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
