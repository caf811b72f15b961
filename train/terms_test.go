package train

import (
	"math"
	"testing"
)

// A step tells of the terms of its loss, of each rate, and of the gradient. The weighted terms add
// up to the loss; in two passes they are the same as in one.
func TestStepsTellOfTermsAndRates(t *testing.T) {
	c, d := tiny(3)
	c.Loss.Name, c.Optim.HeadFactor, c.Optim.ProxyRate = "happier", 2, 0.25
	c.Schedule = Schedule{Named: Named{Name: "constant"}, Freeze: 1, Frozen: []string{backboneGroup}}
	c.Model.FreezeNorm = true // which chunks need
	for _, passes := range []Passes{{}, {Chunk: 8}} {
		c.Passes = passes
		for _, e := range mustTrain(t, c, Data{Train: d}, Options{}) {
			if e.Kind != Stepped {
				continue
			}
			sum, names := 0.0, ""
			for _, term := range e.Terms {
				sum += term.Weight * float64(term.Value)
				names += term.Name + " "
			}
			if names != "sup_h_ap nsm " || math.Abs(sum-*e.Loss) > 1e-6*math.Abs(*e.Loss)+1e-7 { // float32
				t.Errorf("step %d: terms %+v, loss %v", e.Step, e.Terms, *e.Loss)
			}
			rate := c.Optim.Rate
			if e.Step == 1 {
				rate = 0
			}
			if e.Rate != rate || e.HeadRate != 2*c.Optim.Rate || e.ProxyRate != 0.25 || e.Norm == nil || *e.Norm <= 0 {
				t.Errorf("step %d: rates %v, %v, %v, norm %v", e.Step, e.Rate, e.HeadRate, e.ProxyRate, e.Norm)
			}
		}
	}
	c.Loss.Name, c.Passes = "smooth-ap", Passes{}
	for _, e := range mustTrain(t, c, Data{Train: d}, Options{}) {
		if e.Kind == Stepped && (len(e.Terms) != 0 || e.ProxyRate != 0) {
			t.Errorf("a loss of one term: %+v", e)
		}
	}
}
