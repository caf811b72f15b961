package train

import (
	"math"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"hgld/train/device/cpu"
	"hgld/train/loss"
)

// Proxies start as their authors' do: uniform within 1/√D, or normal for ProxyNCA++.
// A classifier starts from 0.
func TestParametersOfALossStartAsTheirAuthorsHaveThem(t *testing.T) {
	for name, want := range map[string]float64{"nsm": 1 / math.Sqrt(3*8), "nca-pp": 1.0 / 8, "proxy-nca": 1.0 / 8,
		"cross-entropy": 0} {
		c, d := tiny(1)
		c.Loss.Name, c.Model.Dim = name, 8
		r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)})
		if err != nil {
			t.Fatal(err)
		}
		sum, n := 0.0, 0
		for _, v := range read(t, r.step, r.step.objective.params[0].Value) {
			sum, n = sum+v*v, n+1
		}
		if got := math.Sqrt(sum / float64(n)); math.Abs(got-want) > 0.15*want { // of 128 numbers
			t.Errorf("%s: deviation %v, want %v", name, got, want)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
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
	if err != nil {
		t.Fatal(err)
	}
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
	if err := yaml.Unmarshal([]byte(text), &l); err != nil {
		t.Fatal(err)
	}
	k, err := l.Kind()
	if err != nil {
		t.Fatal(err)
	}
	got := k.(loss.Composition)
	if s := got.Part("smooth_ap").(loss.SmoothAP); s.Tau != 0.02 || !s.SelfInGallery || got.Terms[0].Weight != 0.25 {
		t.Errorf("smooth-ap is %+v in %+v", s, got)
	}
	if s := got.Part("nsm_2").(loss.NSM); s.Level != 1 || s.Temperature != 0.1 || got.Terms[2].Weight != 1 {
		t.Errorf("the second nsm is %+v in %+v", s, got)
	}
	made, err := got.New(loss.Facts{Classes: []int{4, 2}, Dim: 8})
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
