package train

import (
	"math"
	"strings"
	"testing"

	"hgld/train/device/cpu"
	"hgld/train/loss"
)

// Proxies start as their authors' do: uniform within 1/√D, or normal for ProxyNCA++.
// A classifier starts from 0.
func TestParametersOfALossStartAsTheirAuthorsHaveThem(t *testing.T) {
	for name, want := range map[string]float64{"nsm": 1 / math.Sqrt(3*8), "nca-pp": 1.0 / 8, "proxy-nca": 1.0 / 8, "cross-entropy": 0} {
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
	k, err := lookUpLoss(l)
	if err != nil {
		t.Fatal(err)
	}
	got := k.(loss.Composition)
	if s := got.SupHAP; s.Tau != 0.02 || s.Relevance.Alpha != 3 || s.Rho != 100 || *s.Offset != 1.44 || !s.SelfInGallery || got.Weights[1] != 0.3 {
		t.Errorf("%+v of %+v", s, got)
	}
	l.Settings = nil
	if k, err = lookUpLoss(l); err != nil || k.(loss.Composition).SupHAP.Tau != 0.01 {
		t.Errorf("the table has changed: %+v, %v", k, err)
	}
	for want, settings := range map[string]map[string]any{
		`did you mean "nsm"`: {"nms": map[string]any{"tau": 1}},
		`did you mean "tau"`: {"sup_h_ap": map[string]any{"ta": 1}},
	} {
		l.Settings = settings
		if _, err := lookUpLoss(l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
