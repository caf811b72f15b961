package loss_test

import (
	"slices"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/train/loss"
)

// testedAs says for the rows that no golden file names which file's loss they are
// with other parts or settings.
var testedAs = map[string]string{
	"roadmap-calibration": "roadmap", "roadmap-arcface": "roadmap",
	"happier-f": "happier", "happier-arcface": "happier",
	"rod-recall-nsm": "rod-recall",
	"sum":            "roadmap",
	"sum-nsm":        "nsm", "sum-nca-pp": "nca-pp",
}

// A row of the table without a source, a definition to compare with, golden files or
// a tolerance for them is a failure.
func TestEveryLossIsTested(t *testing.T) {
	cases := map[string]int{}
	for _, file := range goldenFiles(t) {
		var g struct{ Loss string }
		goldens.ReadJSON(t, file, &g)
		cases[g.Loss]++
	}
	in := randomBatch(1, 6, 4, 8, 2)
	for _, e := range loss.All {
		if e.Source == "" {
			t.Errorf("%s has no source", e.Name)
		}
		name := e.Name
		if as, ok := testedAs[name]; ok {
			name = as
		}
		if _, ok := float32Errors[name]; !ok || cases[name] == 0 {
			t.Errorf("%s: %d golden files, a tolerance: %v", e.Name, cases[name], ok)
		}
		if r := define(t, e.Value, in); !(r.Value > 0) && e.Name != "proxy-nca" { // which has no least value
			t.Errorf("%s: its definition gives %v", e.Name, r.Value)
		}
	}
	for name := range testedAs {
		if !slices.Contains(loss.All.Names(), name) {
			t.Errorf("%s is no loss", name)
		}
	}
}
