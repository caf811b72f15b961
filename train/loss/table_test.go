package loss_test

import (
	"math"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/loss"
)

var threeLevels = loss.Facts{Classes: []int{12, 6, 3}, Dim: 8, Paths: make([]labels.Path, 12)}

func TestEveryLossOfATableCanBeMade(t *testing.T) {
	for _, preset := range loss.Presets {
		if len(preset.Value) != len(loss.All) {
			t.Errorf("preset %s has %d losses of %d", preset.Name, len(preset.Value), len(loss.All))
		}
		for i, e := range preset.Value {
			if e.Name != loss.All[i].Name || e.About == "" {
				t.Errorf("preset %s: entry %d is %q, %q", preset.Name, i, e.Name, e.About)
			}
			if _, err := e.Value.New(threeLevels); err != nil {
				t.Errorf("preset %s: %s: %v", preset.Name, e.Name, err)
			}
		}
	}
}

// The switches of both presets, as the papers and the released code have them.
func TestPresetsSettleAllSwitches(t *testing.T) {
	get := func(preset, name string) loss.Kind {
		table, err := loss.Presets.Get("preset", preset)
		must.Do(t, err)
		k, err := table.Get("loss", name)
		must.Do(t, err)
		return k
	}
	paper, released := get("paper", "sup-h-ap").(loss.SupHAP), get("released", "sup-h-ap").(loss.SupHAP)
	if paper.SelfInGallery || paper.Zero != 1 || paper.Start != 0.5 || paper.Offset != nil ||
		paper.MemoryCombine != loss.Add {
		t.Errorf("paper: %+v", paper)
	}
	if !released.SelfInGallery || released.Zero != 0.5 || released.Start != 0.5 || *released.Offset != 1.44 ||
		released.MemoryCombine != loss.Average {
		t.Errorf("released: %+v", released)
	}
	if r := paper.Relevance; r.Type != loss.Population || r.Alpha != 1 || r.Divisor != 0 || r.CountsQuery {
		t.Errorf("paper: %+v", r)
	}
	if r := released.Relevance; r.Type != loss.Population || r.Alpha != 1 || r.Divisor != -1 || !r.CountsQuery {
		t.Errorf("released: %+v", r)
	}
	for _, k := range []loss.HMinus{paper.HMinus, released.HMinus} {
		if k.Tau != 0.01 || k.Rho != 100 || k.Delta != 0.05 {
			t.Errorf("%+v", k)
		}
	}
	if p, r := get("paper", "calibration").(loss.Calibration),
		get("released", "calibration").(loss.Calibration); p.Reduction != loss.PerQuery ||
		p.Normalise || p.SelfInGallery || r.Reduction != loss.Violations || !r.Normalise || !r.SelfInGallery {
		t.Errorf("paper: %+v, released: %+v", p, r)
	}
	if r := get("released", "rod-recall").(loss.Composition); r.Terms[0].Weight != 0.5 ||
		r.Terms[1].Weight != 0.5 || *r.Part("sup_recall").(loss.SupRecall).Offset != 1.44 ||
		r.Part("calibration").(loss.Calibration).Reduction != loss.Violations {
		t.Errorf("released: %+v", r)
	}
	for _, preset := range []string{"paper", "released"} {
		if h := get(preset, "happier").(loss.Composition); h.Terms[0].Weight != 0.9 ||
			h.Terms[1].Weight != 0.1 || h.Part("nsm").(loss.NSM).Temperature != 0.05 {
			t.Errorf("%s: %+v", preset, h)
		}
		if h := get(preset, "happier-f").(loss.Composition); h.Terms[0].Weight != 0.5 ||
			h.Terms[1].Weight != 0.5 || h.Part("sup_h_ap").(loss.SupHAP).Relevance.Alpha != 5 {
			t.Errorf("%s: %+v", preset, h)
		}
	}
	if all, _ := loss.All.Get("loss", "sup-ap"); all.(loss.SupAP).SelfInGallery {
		t.Error("the released preset has changed the table of the papers")
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	sup, _ := loss.All.Get("loss", "sup-h-ap")
	with := func(change func(*loss.SupHAP)) loss.Kind {
		l := sup.(loss.SupHAP)
		change(&l)
		return l
	}
	for _, c := range []struct {
		k    loss.Kind
		want string
	}{
		{loss.SmoothAP{}, "tau is 0"},
		{loss.SmoothAP{Tau: 0.01, Level: 3}, "level is 3, want less than 3, the number of levels of the data"},
		{loss.SmoothAP{Tau: 0.01, Level: -1}, "level is -1"},
		{with(func(l *loss.SupHAP) { l.Delta = -1 }), "delta is -1"},
		{with(func(l *loss.SupHAP) { l.SelfInGallery = true }), "counts_query"},
		{with(func(l *loss.SupHAP) { l.Relevance.Divisor = -3 }), "divisor is 0 with 3 levels"},
		{with(func(l *loss.SupHAP) { l.Relevance = loss.Relevance{Type: loss.Mapped, Weights: []float64{1}} }),
			"1 weights for 3 levels"},
		{loss.SmoothRecall{Tau: 0.01, Temp: loss.Temperatures{All: 1}}, "at_k has 0 numbers"},
		{loss.SmoothRecall{Tau: 0.01, Temp: loss.Temperatures{All: 1}, AtK: []float64{0}}, "at_k has 0"},
		{loss.SmoothRecall{Tau: 0.01, AtK: []float64{1, 2}}, "temp is 0 for k = 1"},
		{loss.SmoothRecall{Tau: 0.01, AtK: []float64{1, 2}, Temp: loss.Temperatures{Each: []float64{1}}},
			"temp has 1 numbers and at_k has 2"},
		{loss.SupRecall{HMinus: sopStep, AtK: []float64{1, 2}, Temp: loss.Temperatures{Each: []float64{1, -2}}},
			"temp is -2 for k = 2"},
		{loss.RecallAtKOriginal{Tau: 0.01, AtK: []float64{1}, Temp: loss.Temperatures{Each: []float64{}}},
			"temp has 0 numbers and at_k has 1"},
		{loss.NSM{Level: 1}, "temperature is 0"},
		{loss.NSM{Temperature: 1, Level: 5}, "level is 5"},
		{loss.Sum{}, "the sum has no terms, want at least one"},
		{loss.Triplet{Level: 3}, "level is 3"},
		{loss.XBMContrastive{Margin: -1}, "margin is -1"},
		{loss.MultiSimilarity{Alpha: 2}, "scales are 2 and 0"},
		{loss.SoftBinAP{NQ: 1, Max: 1}, "1 bins from 0 to 1"},
		{loss.FastAP{}, "1 bins"},
		{loss.BlackBoxAP{}, "lambda is 0"},
		{loss.RamboRecall{Lambda: -1}, "lambda is -1"},
		{loss.NCAPP{}, "scale is 0"},
		{loss.ProxyNCA{}, "scale is 0"},
		{loss.ArcFace{S: 30, M: 4}, "margin 4"},
		{loss.ArcFace{S: 30, M: 0.5, Smoothing: 1}, "ls_eps is 1"},
		{loss.ArcFace{S: 30, M: 0.5, Smoothing: -0.1}, "ls_eps is -0.1"},
		{loss.ArcFace{S: 30, M: 0.5, Smoothing: math.NaN()}, "ls_eps is NaN"},
		{loss.CrossEntropy{Epsilon: 1}, "epsilon is 1"},
		{loss.SumNSM{Temperature: 1, Weights: []float64{1}}, "1 weights for 3 levels, want one for each level"},
		{loss.SumTriplet{Levels: []int{0, 5}}, "level is 5"},
		{loss.Composition{Terms: []loss.Term{{Weight: 1, Loss: loss.SupAP{}}, {Weight: 1, Loss: loss.NSM{Temperature: 1}}}},
			"tau is 0"},
		{loss.SmoothAP{Tau: 1, ScoreMixing: loss.ScoreMixing{UsePosMixup: true}},
			"needs a fixed number of rows per class, and the sampler does not give one"},
		{loss.RecallAtKOriginal{Tau: 1, AtK: []float64{1}, Temp: loss.Temperatures{All: 1}, SiMix: true},
			"want at least 2 for simix"},
		{loss.RamboRecall{Lambda: 1, BatchMemory: 1}, "batch_memory is 1"},
		{loss.BlackBoxAP{Lambda: 1, BatchMemory: 1}, "batch_memory is 1"},
		{loss.RamboDetection{Lambda: 1, MAP: 1, BatchMemory: 1}, "batch_memory is 1"},
		{loss.RamboDetection{Lambda: 1}, "map and apc are 0"},
		{loss.RamboDetection{Lambda: 1, MAP: 1, APC: -1}, "apc is -1"},
		{loss.RamboRecall{Lambda: 1, Weights: []float64{0, 0}}, "weights are all 0"},
		{loss.RamboRecall{Lambda: 1, Weights: []float64{1, -1}}, "weights[1] is -1"},
		{loss.RamboRecall{Lambda: 1, Weights: []float64{1}, ScaleByRows: true}, "scale_by_rows"},
		{loss.NSM{Temperature: 1, NumCenters: 2}, "temperature_centers is 0"},
		{loss.Composition{}, "the sum has no terms, want at least one"},
		{loss.Composition{Terms: []loss.Term{{Weight: -1, Loss: loss.NSM{Temperature: 1}}}}, "weights are [-1]"},
		{loss.CSL{Scale: 32, Margins: []float64{1}}, "1 margins for 3 levels, want one for each level"},
		{loss.CSL{}, "scale is 0"},
	} {
		if _, err := c.k.New(threeLevels); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: error %v, want one with %q", c.k, err, c.want)
		}
	}
}

func TestSettingsSurviveAConfiguration(t *testing.T) {
	want := loss.SupHAP{
		HMinus:         loss.HMinus{Tau: 0.02, Rho: 50, Delta: 0.1, Start: 0.25, Offset: new(1.5), Zero: 0.5},
		Relevance:      loss.Relevance{Type: loss.Mapped, Weights: []float64{0.5, 0.25, 0.25}, CountsQuery: true},
		GalleryOptions: loss.GalleryOptions{SelfInGallery: true, MemoryCombine: loss.Average},
	}
	text, err := yaml.Marshal(want)
	must.Do(t, err)
	var got loss.SupHAP
	must.Do(t, yaml.Unmarshal(text, &got))
	again, err := yaml.Marshal(got)
	if err != nil || string(again) != string(text) {
		t.Errorf("%v: %s became %s", err, text, again)
	}
	if !strings.Contains(string(text), "memory_combine: average") || !strings.Contains(string(text), "type: map") {
		t.Errorf("names are missing in %s", text)
	}
	for _, k := range []any{loss.RamboRecall{Weight: loss.LogLog}, loss.Triplet{Mining: loss.EasiestPositive},
		loss.Calibration{Reduction: loss.Violations}} {
		text, err := yaml.Marshal(k)
		if err != nil || !strings.Contains(string(text), "loglog") && !strings.Contains(string(text), "easiest") &&
			!strings.Contains(string(text), "violations") {
			t.Errorf("%v: names are missing in %s", err, text)
		}
	}
	err = yaml.Unmarshal([]byte("relevance: {type: pup}"), &got)
	if err == nil || !strings.Contains(err.Error(), `"pop"`) {
		t.Errorf("error %v does not propose pop", err)
	}
}

// Proxies are one row for each class of their level, in each loss that has them.
func TestProxiesAreDeclared(t *testing.T) {
	for _, c := range []struct {
		k    loss.Kind
		name string
		rows int
	}{
		{loss.NSM{Temperature: 0.05, Level: 1}, "proxies", 6},
		{loss.ArcFace{S: 30, Level: 2}, "proxies", 3},
		{loss.Sum{Terms: []loss.Term{{Name: "fine", Weight: 1, Loss: loss.NSM{Temperature: 0.05}}}}, "fine.proxies", 12},
	} {
		l, err := c.k.New(threeLevels)
		must.Do(t, err)
		p := l.(loss.Trained).Params()
		if len(p) != 1 || p[0].Name != c.name || p[0].Dims[0] != c.rows || p[0].Dims[1] != 8 || p[0].FanIn != 8 {
			t.Errorf("%T: %+v", c.k, p[0])
		}
	}
}

// A zero, negative or infinite temperature, scale, step, power or weight would make the loss or
// its gradient undefined, or turn it around.
func TestLossesRefuseSettingsOutsideTheirDomain(t *testing.T) {
	of := map[string]func(x float64) loss.Kind{
		"smooth-ap": func(x float64) loss.Kind { return loss.SmoothAP{Tau: x} },
		"nsm":       func(x float64) loss.Kind { return loss.NSM{Temperature: x} },
		"nsm, centers": func(x float64) loss.Kind {
			return loss.NSM{Temperature: 1, NumCenters: 2, TemperatureCenters: x}
		},
		"nca-pp":           func(x float64) loss.Kind { return loss.NCAPP{Scale: x} },
		"proxy-nca":        func(x float64) loss.Kind { return loss.ProxyNCA{Scale: x} },
		"sum-nca-pp":       func(x float64) loss.Kind { return loss.SumNCAPP{Scale: x} },
		"arcface":          func(x float64) loss.Kind { return loss.ArcFace{S: x} },
		"csl":              func(x float64) loss.Kind { return loss.CSL{Scale: x} },
		"multi-similarity": func(x float64) loss.Kind { return loss.MultiSimilarity{Alpha: x, Beta: 1} },
		"blackbox-ap":      func(x float64) loss.Kind { return loss.BlackBoxAP{Lambda: x} },
		"rambo-recall":     func(x float64) loss.Kind { return loss.RamboRecall{Lambda: x} },
		"recall temperatures": func(x float64) loss.Kind {
			return loss.SmoothRecall{Tau: 1, AtK: []float64{1}, Temp: loss.Temperatures{All: x}}
		},
	}
	for name, k := range of {
		for _, x := range []float64{0, -3, math.NaN()} {
			if _, err := k(x).New(threeLevels); err == nil {
				t.Errorf("%s accepts %v, where only a positive number is defined", name, x)
			}
		}
	}
	for name, k := range map[string]loss.Kind{
		"blackbox-ap": loss.BlackBoxAP{Lambda: 4, Epsilon: -1}, "xbm-contrastive": loss.XBMContrastive{Epsilon: -1},
		"multi-similarity": loss.MultiSimilarity{Alpha: 1, Beta: 1, Epsilon: -1},
		"sum-nsm":          loss.SumNSM{Temperature: 1, Weights: []float64{1, 1, -1}},
		"relevance alpha":  loss.SmoothHAP{Tau: 1, Relevance: loss.Relevance{Alpha: -1}},
		"relevance weight": loss.SmoothHAP{
			Tau: 1, Relevance: loss.Relevance{Type: loss.Mapped, Weights: []float64{1, 1, -1}},
		},
	} {
		if _, err := k.New(threeLevels); err == nil || !strings.Contains(err.Error(), "-1") {
			t.Errorf("%s accepts -1, or its error does not name it: %v", name, err)
		}
	}
}
