package train

import (
	"strings"
	"testing"
)

// The rate of a warm-up rises from 1/n of the base rate to the whole, and a cosine without a
// length ends with the run.
func TestWarmUpRisesBeforeTheSchedule(t *testing.T) {
	c := Default()
	c.Steps, c.Schedule.WarmUp = 14, 4
	p, err := c.resolve()
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[int]float64{0: .25, 1: .5, 3: 1, 4: 1, 9: .5, 14: 0} {
		if got := p.schedule.Rate(1, at); got < want-1e-12 || got > want+1e-12 { // closed forms in float64
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
		if _, err := c.resolve(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("want %q: %v", text, err)
		}
	}
}
