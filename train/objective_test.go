package train

import (
	"strings"
	"testing"

	"hgld/train/loss"
)

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
