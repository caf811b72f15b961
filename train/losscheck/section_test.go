package losscheck_test

import (
	"math"
	"testing"

	"hgld/train/config"
	"hgld/train/device/cpu"
	"hgld/train/loss"
	"hgld/train/losscheck"
)

// The middle of a section is the loss of the vectors themselves, also for losses that remember earlier
// batches: each cell begins anew.
func TestTheMiddleOfASectionIsTheLoss(t *testing.T) {
	b := cpu.New(2)
	rows, csv := random(24)
	e := files(t, b, rows, csv)
	for _, name := range loss.All.Names() {
		l := config.Loss{Named: config.Named{Name: name}, Preset: "paper"}
		in := &losscheck.Input{Loss: l, Rows: e, Unit: true, Seed: 1}
		r, err := losscheck.Compute(b, in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s, err := losscheck.SectionOf(b, in, 2, 3)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := s.Values[1][1]; math.Abs(got-r.Value) > 1e-6*max(math.Abs(r.Value), 1) { // float32 sums in another order
			t.Errorf("%s: %v in the middle, want %v", name, got, r.Value)
		}
		flat := name == "cross-entropy" // its classifier begins at 0
		if s.Steps[0] != -2 || s.Steps[1] != 0 || s.Steps[2] != 2 || (s.Values[0][0] == s.Values[1][1]) != flat {
			t.Errorf("%s: %+v", name, s)
		}
		if ranked := name == "blackbox-ap" || name == "rambo-recall"; (len(s.Lambdas) == 2) != ranked {
			t.Errorf("%s: interpolations of the strengths %v", name, s.Lambdas)
		}
		for i, values := range s.Interpolated { // below the loss, by more for a greater λ
			above := append([][][]float64{s.Values}, s.Interpolated...)[i]
			for k, row := range values {
				for n, v := range row {
					if !(v < above[k][n]) || v < 0 {
						t.Errorf("%s, λ = %v, cell %d, %d: %v, want less than %v", name, s.Lambdas[i], n, k, v, above[k][n])
					}
				}
			}
		}
	}
	in := &losscheck.Input{Loss: config.Loss{Named: config.Named{Name: "smooth-ap"}, Preset: "paper"}, Rows: e, Unit: true}
	for _, cells := range []int{2, 500} {
		if _, err := losscheck.SectionOf(b, in, 1, cells); err == nil {
			t.Errorf("a section of %d cells was drawn", cells)
		}
	}
}
