package train

import (
	"strings"
	"testing"

	"hgld/train/backbone"
	"hgld/train/optim"
	"hgld/train/sample"
)

func TestPickAppliesSettingsToACopy(t *testing.T) {
	s, err := pick(sample.All, "sampler", "sampler",
		Named{Name: "hierarchical", Settings: map[string]any{"batch": 64, "per_tuple": 2}})
	if err != nil {
		t.Fatal(err)
	}
	if h := s.(*sample.Hierarchical); h.Batch != 64 || h.PerTuple != 2 || h.M != 4 {
		t.Errorf("sampler %+v", h)
	}
	table, _ := sample.All.Get("sampler", "hierarchical")
	if table.(*sample.Hierarchical).Batch != 256 {
		t.Error("the table's own entry was changed")
	}
	spec, err := pick(backbone.All, "backbone", "model.backbone",
		Named{Name: "convnet", Settings: map[string]any{"widths": []any{8, 16}, "strides": []int{2, 2}}})
	if err != nil {
		t.Fatal(err)
	}
	if c := spec.(backbone.Convnet); len(c.Widths) != 2 || c.Widths[1] != 16 {
		t.Errorf("convnet %+v", c)
	}
}

func TestWrongSettingsNameTheNearest(t *testing.T) {
	for _, c := range []struct {
		named Named
		hint  string
	}{
		{Named{Name: "adm"}, `did you mean "adam"`},
		{Named{Name: "adam", Settings: map[string]any{"beta3": 1}}, `did you mean "beta`},
		{Named{Name: "adam", Settings: map[string]any{"eps": "small"}}, `"small" is not a number`},
		{Named{Name: "sgd", Settings: map[string]any{"nesterov": 3}}, `"3" is not true or false`},
	} {
		if _, err := pick(optim.All, "optimizer", "optim", c.named); err == nil || !strings.Contains(err.Error(), c.hint) {
			t.Errorf("%+v: %v, want %q", c.named, err, c.hint)
		}
	}
}

func TestWholeNumberIsNotCutOffAFraction(t *testing.T) {
	for setting, value := range map[string]any{"per_tuple": 2.5, "batch": 1.5} {
		named := Named{Name: "hierarchical", Settings: map[string]any{setting: value}}
		if _, err := pick(sample.All, "sampler", "sampler", named); err == nil ||
			!strings.Contains(err.Error(), " is not a whole number") {
			t.Errorf("%s %v: %v", setting, value, err)
		}
	}
	widths := Named{Name: "convnet", Settings: map[string]any{"widths": []any{8, 16.5}}}
	if _, err := pick(backbone.All, "backbone", "model.backbone", widths); err == nil {
		t.Error("a width of 16.5 is taken")
	}
	s, err := pick(sample.All, "sampler", "sampler",
		Named{Name: "hierarchical", Settings: map[string]any{"batch": 64.0, "per_tuple": nil}})
	if err != nil {
		t.Fatal(err)
	}
	table, _ := sample.All.Get("sampler", "hierarchical")
	if h := s.(*sample.Hierarchical); h.Batch != 64 || h.PerTuple != table.(*sample.Hierarchical).PerTuple {
		t.Errorf("sampler %+v", h)
	}
}

func TestDefaultConfigurationResolves(t *testing.T) {
	c := Default()
	if _, err := c.resolve(); err != nil {
		t.Fatal(err)
	}
}

func TestConfigErrorsNameTheSetting(t *testing.T) {
	for hint, change := range map[string]func(*Config){
		"one of them":              func(c *Config) { c.Epochs = 0 },
		"input.size is 4":          func(c *Config) { c.Input.Size = 4 },
		"want at least input.size": func(c *Config) { c.Input.Resize = 100 },
		"input.scale":              func(c *Config) { c.Input.Scale = [2]float64{0, 1} },
		`did you mean "resized"`:   func(c *Config) { c.Input.Crop = "resize" },
		"optim.lr is 0":            func(c *Config) { c.Optim.Rate = 0 },
		`did you mean "gem"`:       func(c *Config) { c.Model.Pooling = "gme" },
		"run.keep":                 func(c *Config) { c.Run.Keep = 0 },
		`metric "R@x"`:             func(c *Config) { c.Run.Metrics = []string{"R@x"} },
		`unknown filter`:           func(c *Config) { c.Input.Filter = "box" },
	} {
		c := Default()
		change(&c)
		if _, err := c.resolve(); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("error %v, want %q", err, hint)
		}
	}
}

func TestCosineEndsWithTheRun(t *testing.T) {
	c := Default()
	c.Epochs = 40
	p, err := c.resolve()
	if err != nil {
		t.Fatal(err)
	}
	if got := p.schedule.(optim.Cosine).Length; got != 40 {
		t.Errorf("length %d, want the run's 40 epochs", got)
	}
}
