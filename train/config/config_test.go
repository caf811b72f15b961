package config

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"hgld/internal/testing/must"
	"hgld/train/backbone"
	"hgld/train/loss"
	"hgld/train/optim"
	"hgld/train/sample"
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
		if _, err := c.Resolve(); err != nil {
			t.Fatal(err)
		}
		if c.Input.Mean != want {
			t.Errorf("%s: mean %v, want %v", name, c.Input.Mean, want)
		}
	}
	c := Default()
	c.Input.Mean, c.Input.Std = [3]float32{}, [3]float32{1, 1, 1}
	if _, err := c.Resolve(); err != nil || c.Input.Mean != [3]float32{} {
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
		`did you mean "validation"`: func(c *Config) { c.Run.EvalOn = "validatoin" },
	} {
		c := Default()
		change(&c)
		if _, err := c.Resolve(); !errors.As(err, new(*Error)) || !strings.Contains(err.Error(), hint) {
			t.Errorf("want %q: error %v", hint, err)
		}
	}
}

func TestCheckpointsHaveTheFormerKeyOfTheAveragesWarmUp(t *testing.T) {
	for text, want := range map[string]Average{
		`{"decay": 0.9, "rise": true}`:   {Decay: 0.9, WarmUp: true},
		`{"decay": 0.9, "warmup": true}`: {Decay: 0.9, WarmUp: true},
		`{"decay": 0.9}`:                 {Decay: 0.9},
	} {
		var a Average
		if err := json.Unmarshal([]byte(text), &a); err != nil || a != want {
			t.Errorf("%s: %+v, %v", text, a, err)
		}
	}
	if text, err := json.Marshal(Average{Decay: 0.9}); err != nil || string(text) != `{"decay":0.9}` {
		t.Errorf("without a warm-up: %s, %v", text, err)
	}
}

func TestPickAppliesSettingsToACopy(t *testing.T) {
	s, err := Select(sample.All, "sampler", "sampler",
		Named{Name: "hierarchical", Settings: map[string]any{"batch": 64, "per_tuple": 2}})
	must.Do(t, err)
	if h := s.(*sample.Hierarchical); h.Batch != 64 || h.PerTuple != 2 || h.M != 4 {
		t.Errorf("sampler %+v", h)
	}
	table, _ := sample.All.Get("sampler", "hierarchical")
	if table.(*sample.Hierarchical).Batch != 256 {
		t.Error("the table's own entry was changed")
	}
	spec, err := Select(backbone.All, "backbone", "model.backbone",
		Named{Name: "convnet", Settings: map[string]any{"widths": []any{8, 16}, "strides": []int{2, 2}}})
	must.Do(t, err)
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
		if _, err := Select(optim.All, "optimizer", "optim", c.named); err == nil || !strings.Contains(err.Error(), c.hint) {
			t.Errorf("%+v: %v, want %q", c.named, err, c.hint)
		}
	}
}

func TestWholeNumberIsNotCutOffAFraction(t *testing.T) {
	for setting, value := range map[string]any{"per_tuple": 2.5, "batch": 1.5} {
		named := Named{Name: "hierarchical", Settings: map[string]any{setting: value}}
		if _, err := Select(sample.All, "sampler", "sampler", named); err == nil ||
			!strings.Contains(err.Error(), " is not a whole number") {
			t.Errorf("%s %v: %v", setting, value, err)
		}
	}
	widths := Named{Name: "convnet", Settings: map[string]any{"widths": []any{8, 16.5}}}
	if _, err := Select(backbone.All, "backbone", "model.backbone", widths); err == nil {
		t.Error("a width of 16.5 is taken")
	}
	s, err := Select(sample.All, "sampler", "sampler",
		Named{Name: "hierarchical", Settings: map[string]any{"batch": 64.0, "per_tuple": nil}})
	must.Do(t, err)
	table, _ := sample.All.Get("sampler", "hierarchical")
	if h := s.(*sample.Hierarchical); h.Batch != 64 || h.PerTuple != table.(*sample.Hierarchical).PerTuple {
		t.Errorf("sampler %+v", h)
	}
}

func TestDefaultConfigurationResolves(t *testing.T) {
	c := Default()
	if _, err := c.Resolve(); err != nil {
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
		if _, err := c.Resolve(); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("error %v, want %q", err, hint)
		}
	}
}

func TestCosineEndsWithTheRun(t *testing.T) {
	c := Default()
	c.Epochs = 40
	p, err := c.Resolve()
	must.Do(t, err)
	if got := p.Schedule.(optim.Cosine).Length; got != 40 {
		t.Errorf("length %d, want the run's 40 epochs", got)
	}
}

// The rate of a warm-up rises from 1/n of the base rate to the whole, and a cosine without a
// length ends with the run.
func TestWarmUpRisesBeforeTheSchedule(t *testing.T) {
	c := Default()
	c.Steps, c.Schedule.WarmUp = 14, 4
	p, err := c.Resolve()
	must.Do(t, err)
	for at, want := range map[int]float64{0: .25, 1: .5, 3: 1, 4: 1, 9: .5, 14: 0} {
		if got := p.Schedule.Rate(1, at); got < want-1e-12 || got > want+1e-12 { // closed forms in float64
			t.Errorf("at %d: %v, want %v", at, got, want)
		}
	}
	for text, change := range map[string]func(*Config){
		"less than the length of the run": func(c *Config) { c.Schedule.WarmUp = 14 },
		"its own warm-up":                 func(c *Config) { c.Schedule.Name = "linear-cosine" },
		"whole number from 0":             func(c *Config) { c.Schedule.WarmUp = -1 },
	} {
		c := c
		change(&c)
		if _, err := c.Resolve(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("want %q: %v", text, err)
		}
	}
}

// A part of a composition has settings of its own, which leave the others and the
// table as they are.
func TestPartsOfALossHaveSettings(t *testing.T) {
	l := Loss{Named: Named{Name: "happier", Settings: map[string]any{
		"weights": []any{0.7, 0.3}, "sup_h_ap": map[string]any{"tau": 0.02, "relevance": map[string]any{"alpha": 3}},
	}}, Preset: "released"}
	k, err := l.Kind()
	must.Do(t, err)
	got := k.(loss.Composition)
	if s := got.Part("sup_h_ap").(loss.SupHAP); s.Tau != 0.02 || s.Relevance.Alpha != 3 || s.Rho != 100 ||
		*s.Offset != 1.44 || !s.SelfInGallery || got.Terms[1].Weight != 0.3 {
		t.Errorf("%+v of %+v", s, got)
	}
	l.Settings = nil
	if k, err = l.Kind(); err != nil || k.(loss.Composition).Part("sup_h_ap").(loss.SupHAP).Tau != 0.01 {
		t.Errorf("the table has changed: %+v, %v", k, err)
	}
	for want, settings := range map[string]map[string]any{
		`did you mean "nsm"`: {"nms": map[string]any{"tau": 1}},
		`did you mean "tau"`: {"sup_h_ap": map[string]any{"ta": 1}},
	} {
		l.Settings = settings
		if _, err := l.Kind(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// Any losses of the table can be added up, each with a weight and settings.
func TestASumNamesItsTerms(t *testing.T) {
	text := `
name: sum
preset: released
settings:
  terms:
    - {name: smooth-ap, weight: 0.25, settings: {tau: 0.02}}
    - {name: nsm, weight: 0.5}
    - {name: nsm, weight: 1, settings: {level: 1}}
  nsm_2: {temperature: 0.1}
`
	var l Loss
	must.Do(t, yaml.Unmarshal([]byte(text), &l))
	k, err := l.Kind()
	must.Do(t, err)
	got := k.(loss.Composition)
	if s := got.Part("smooth_ap").(loss.SmoothAP); s.Tau != 0.02 || !s.SelfInGallery || got.Terms[0].Weight != 0.25 {
		t.Errorf("smooth-ap is %+v in %+v", s, got)
	}
	if s := got.Part("nsm_2").(loss.NSM); s.Level != 1 || s.Temperature != 0.1 || got.Terms[2].Weight != 1 {
		t.Errorf("the second nsm is %+v in %+v", s, got)
	}
	made, err := got.New(loss.Facts{Classes: []int{4, 2}, Dim: 8})
	must.Do(t, err)
	var names []string
	for _, p := range made.(loss.Trained).Params() {
		names = append(names, p.Name)
	}
	if !slices.Equal(names, []string{"nsm.proxies", "nsm_2.proxies"}) {
		t.Errorf("parameters are called %v", names)
	}
	for want, terms := range map[string]any{
		"want a list of {name: …":                                    "smooth-ap",
		`term 1: unknown loss "smoth-ap"`:                            []any{map[string]any{"name": "smoth-ap", "weight": 1}},
		"term 1: nsm has no weight, want weight: a number from 0 up": []any{map[string]any{"name": "nsm"}},
		`term 1: nsm: unknown setting "tau"`:                         []any{map[string]any{"name": "nsm", "weight": 1, "settings": map[string]any{"tau": 1}}},
		"term 1: nsm: temperature is 1e+30, wa": []any{map[string]any{"name": "nsm", "weight": 1,
			"settings": map[string]any{"temperature": 1e30}}},
	} {
		l.Settings = map[string]any{"terms": terms}
		if _, err := l.Kind(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// Configurations of earlier versions add and remove the terms of a composition under
// their keys, and list the weights in a fixed order.
func TestTermsAreAddedAndRemovedByKey(t *testing.T) {
	l := Loss{Named: Named{Name: "roadmap", Settings: map[string]any{
		"nsm": nil, "arcface": map[string]any{"s": 30, "m": 0.2}, "calibration": map[string]any{"pos_margin": 0.8},
		"weights": []any{1, 2, 3},
	}}, Preset: "paper"}
	k, err := l.Kind()
	must.Do(t, err)
	var names []string
	for _, term := range k.(loss.Composition).Terms {
		names = append(names, term.Name)
	}
	if !slices.Equal(names, []string{"sup_ap", "calibration", "arcface"}) {
		t.Errorf("the terms are %v", names)
	}
	if c := k.(loss.Composition).Part("calibration").(loss.Calibration); c.PosMargin != 0.8 || c.NegMargin != 0 {
		t.Errorf("an added term is %+v, want 0 where nothing is given", c)
	}
	l.Settings["weights"] = []any{1, 2}
	if _, err := l.Kind(); err == nil || !strings.Contains(err.Error(), "2 weights for 3 terms, want one for each term") {
		t.Errorf("error %v", err)
	}
}

func TestAutoStartsALinearHeadFromPrincipalComponents(t *testing.T) {
	linear := func() *Config {
		c := Default()
		c.Model.Backbone = Named{Name: "vectors", Settings: map[string]any{"width": 12}}
		c.Model.Pooling, c.Model.Dim, c.Model.Projection = "none", 8, ProjectionAuto
		return &c
	}
	for what, try := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"linear":           {func(*Config) {}, "pca"},
		"as many outputs":  {func(c *Config) { c.Model.Dim = 12 }, "pca"},
		"more outputs":     {func(c *Config) { c.Model.Dim = 13 }, ""},
		"no projection":    {func(c *Config) { c.Model.Dim = 0 }, ""},
		"few vectors":      {func(c *Config) { c.Model.FitOn = 8 }, ""},
		"enough vectors":   {func(c *Config) { c.Model.FitOn = 9 }, "pca"},
		"a hidden layer":   {func(c *Config) { c.Model.Backbone.Settings["hidden"] = 16 }, ""},
		"from another run": {func(c *Config) { c.From = "runs/a" }, ""},
		"images":           {func(c *Config) { *c = Default(); c.Model.Projection = ProjectionAuto }, ""},
		"random":           {func(c *Config) { c.Model.Projection = "random" }, ""},
		"whitening":        {func(c *Config) { c.Model.Projection = "pca-whitening" }, "pca-whitening"},
	} {
		c := linear()
		try.change(c)
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if c.ResolveProjection(100); c.Model.Projection != try.want {
			t.Errorf("%s: %q, want %q", what, c.Model.Projection, try.want)
		}
	}
}
