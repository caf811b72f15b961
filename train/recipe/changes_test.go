package recipe

import (
	"slices"
	"testing"

	"hgld/train/history"
)

func TestChangesAreThoseOfTheResult(t *testing.T) {
	published, run := history.DefaultSettings(), history.DefaultSettings()
	run.Out, run.Images.Data, run.Images.Benchmarks = "runs/a", "elsewhere", []string{"part"}
	run.Run.Threads = 3
	run.Input.Mean, run.Input.Std = [3]float32{0.5, 0.5, 0.5}, [3]float32{0.2, 0.2, 0.2}
	if got := Changes(&published, &run); len(got) != 0 {
		t.Errorf("where a run lies and what its backbone decides is no change: %v", got)
	}
	published.Input.Std = [3]float32{0.1, 0.1, 0.1}
	run.Images.Query, run.Loss.Name = "test", "happier"
	var keys []string
	for _, c := range Changes(&published, &run) {
		keys = append(keys, c.Key)
	}
	slices.Sort(keys)
	if want := []string{"input.std", "loss.name", "query"}; !slices.Equal(keys, want) {
		t.Errorf("changes %v, want %v", keys, want)
	}
}
