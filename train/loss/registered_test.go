package loss_test

import (
	"cmp"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/train/loss"
)

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
	for _, r := range loss.Rows {
		if r.Source == "" {
			t.Errorf("%s has no source", r.Name)
		}
		name := cmp.Or(r.Like, r.Name)
		if row(t, name).Rounding == (loss.Rounding{}) || cases[name] == 0 {
			t.Errorf("%s: %d golden files, rounding %v", r.Name, cases[name], row(t, name).Rounding)
		}
		if d := define(t, r.Value, in); !(d.Value > 0) && r.Name != "proxy-nca" { // which has no least value
			t.Errorf("%s: its definition gives %v", r.Name, d.Value)
		}
	}
}
