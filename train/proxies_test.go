package train

import (
	"math"
	"testing"

	"hgld/train/device/cpu"
	"hgld/train/optim"
)

// The proxies have a rule and a weight decay of their own: a step of plain SGD moves
// them by their rate times gradient and decay.
func TestProxiesHaveTheirOwnRuleAndDecay(t *testing.T) {
	c, d := tiny(2)
	c.Loss.Name, c.Optim.ProxyRate, c.Schedule.Name = "nsm", 0.5, "constant"
	c.Optim.Proxies = Named{Name: "sgd", Settings: map[string]any{"momentum": 0.0, "nesterov": false}}
	after := func(decay float64) []float32 {
		c.Optim.ProxyDecay = decay
		dir := t.TempDir()
		mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Limit: 1})
		return values(t, dir, modelFile, "loss.proxies")
	}
	r, err := New(c, Data{Train: d}, Options{Backend: cpu.New(1)})
	if err != nil {
		t.Fatal(err)
	}
	if _, is := r.step.update.proxies.Kind.(optim.SGD); !is {
		t.Errorf("the proxies' rule is %T", r.step.update.proxies.Kind)
	}
	if _, is := r.step.update.net.Kind.(optim.Adam); !is {
		t.Errorf("the network's rule is %T", r.step.update.net.Kind)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	// Decay λ takes rate·λ·w from every weight w, which begins within ±1/√16.
	free, once, twice := after(0), after(0.1), after(0.2)
	moved := 0.0
	for i := range free {
		w := float64(free[i]-once[i]) / (0.5 * 0.1)
		moved = max(moved, math.Abs(w))
		// float32 weights of size 1, over 0.05
		if double := float64(free[i]-twice[i]) / (0.5 * 0.2); math.Abs(w-double) > 1e-4 {
			t.Fatalf("weight %d was %v by one decay and %v by twice that", i, w, double)
		}
	}
	if moved < 0.2 || moved > 0.25+1e-4 {
		t.Errorf("the greatest weight was %v, want nearly 1/4", moved)
	}
}
