package train

import (
	"slices"
	"testing"

	"hgld/train/config"
)

// What a run remembers of earlier batches, and the numbers that its loss draws, go
// on where they stopped.
func TestRunWithMemoriesResumesWithTheSameBytes(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"ring and drawn margin": func(c *config.Config) {
			c.Loss = config.Loss{Named: config.Named{Name: "blackbox-ap"}, Preset: "released"}
			c.Memory = config.CrossBatch{Size: 40, Start: 2}
		},
		"a place for each image": func(c *config.Config) { c.Memory = config.CrossBatch{Unique: true, Start: 2} },
		"ring read first":        func(c *config.Config) { c.Memory = config.CrossBatch{Size: 40, First: true, Weight: 0.5} },
		"memory of scores": func(c *config.Config) {
			c.Loss = config.Loss{Named: config.Named{Name: "rambo-recall", Settings: map[string]any{"batch_memory": 2}},
				Preset: "released"}
		},
	} {
		c, d := tiny(9)
		change(&c)
		whole, stopped := t.TempDir(), t.TempDir()
		want := mustTrain(t, c, Data{Train: d}, Options{Dir: whole})
		mustTrain(t, c, Data{Train: d}, Options{Dir: stopped, Limit: 5})
		got := mustTrain(t, c, Data{Train: d}, Options{Dir: stopped})
		if !slices.Equal(losses(want)[5:], losses(got)) {
			t.Errorf("%s: losses %v, and without a stop %v", name, losses(got), losses(want)[5:])
		}
		sameWeights(t, name+", stopped after 5 of 9 steps", whole, stopped)
	}
}
