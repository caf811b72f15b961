package train

import (
	"slices"
	"testing"

	"hgld/train/input"
)

// Distortions depend on the seed, the epoch and the place in the batch alone: not on the number
// of workers, nor on where a run was interrupted.
func TestDistortedRunsAreRepeatable(t *testing.T) {
	c, d := tiny(6)
	c.Input.Jitter = input.Jitter{Brightness: 0.4, Contrast: 0.4, Saturation: 0.4, Hue: 0.1}
	c.Input.RandAugment = input.RandAugment{Ops: 2, Magnitude: 9}
	c.Input.Erase = input.Erase{Probability: 0.5, Scale: [2]float64{0.1, 0.3}, Ratio: [2]float64{0.5, 2}}
	losses := func(workers int, dirs ...Options) (list []float64) {
		c := c
		c.Run.Workers = workers
		for _, o := range dirs {
			for _, e := range mustTrain(t, c, Data{Train: d}, o) {
				if e.Kind == Stepped {
					list = append(list, *e.Loss)
				}
			}
		}
		return list
	}
	dir := t.TempDir()
	want := losses(1, Options{})
	if got := losses(3, Options{}); !slices.Equal(got, want) {
		t.Errorf("3 workers: %v, want %v", got, want)
	}
	if got := losses(2, Options{Dir: dir, Limit: 2}, Options{Dir: dir}); !slices.Equal(got, want) {
		t.Errorf("interrupted: %v, want %v", got, want)
	}
	c.Input.Jitter, c.Input.RandAugment, c.Input.Erase = input.Jitter{}, input.RandAugment{}, input.Erase{}
	if got := losses(1, Options{}); slices.Equal(got, want) {
		t.Error("the distortions change nothing")
	}
}
