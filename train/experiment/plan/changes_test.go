package plan

import (
	"reflect"
	"slices"
	"testing"

	"hgld/train/experiment/runs"
)

func TestChangesAreThoseOfTheResult(t *testing.T) {
	published, run := runs.DefaultSettings(), runs.DefaultSettings()
	run.Out, run.Images.Data, run.Images.Benchmarks = "runs/a", "elsewhere", []string{"part"}
	run.Run.Workers = 3
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

// The settings of a loss say nothing of another loss, unless the run sets them itself.
func TestSettingsOfAReplacedLossAreNotThoseOfTheNewOne(t *testing.T) {
	published, run := runs.DefaultSettings(), runs.DefaultSettings()
	published.Loss.Name, published.Loss.Settings = "happier", map[string]any{"alpha": 2, "terms": []any{1}}
	run.Loss.Name, run.Loss.Settings = "sup-ap", map[string]any{"alpha": 2, "terms": []any{1}, "rho": 5, "delta": 1}
	published.Loss.Settings["delta"] = 3
	published.Optim.Settings, run.Optim.Settings = map[string]any{"beta": 1}, map[string]any{"beta": 1}
	Yield(&published, &run)
	if want := map[string]any{"rho": 5, "delta": 1}; !reflect.DeepEqual(run.Loss.Settings, want) {
		t.Errorf("settings %v, want %v", run.Loss.Settings, want)
	}
	if len(run.Optim.Settings) != 1 {
		t.Error("the settings of the recipe's own optimizer are gone")
	}
}

// A run records what the initial projection of its study meant.
func TestInitialProjectionIsComparedAsItWasResolved(t *testing.T) {
	for _, c := range []struct {
		study, run string
		same       bool
	}{{"random", "", true}, {"auto", "pca", true}, {"auto", "", true}, {"", "", true}, {"pca", "", false},
		{"", "pca", false}} {
		study, run := runs.DefaultSettings(), runs.DefaultSettings()
		study.Model.Projection, run.Model.Projection = c.study, c.run
		changes, err := differences(&study, &run)
		if err != nil || len(changes) == 0 != c.same {
			t.Errorf("%q and %q: %v, %v", c.study, c.run, changes, err)
		}
	}
}
