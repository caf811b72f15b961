package plan

import (
	"maps"
	"reflect"
	"slices"

	"hgld/train/config"
	"hgld/train/experiment/runs"
)

// Changes lists the settings that affect the result of a run and differ from those of its recipe.
// It ignores the location of the data. A recipe without mean and deviation leaves them to the
// backbone.
func Changes(recipe, run *runs.Settings) []runs.Change {
	none := [3]float32{}
	return slices.DeleteFunc(runs.Changes(recipe, run), func(c runs.Change) bool {
		switch c.Key {
		case "data", "benchmarks":
			return true
		case "input.mean":
			return recipe.Input.Mean == none
		case "input.std":
			return recipe.Input.Std == none
		}
		return false
	})
}

// Yield removes from a run what its recipe sets in a loss, a backbone or another entry of a table, if the run has
// another entry in its place.
func Yield(recipe, run *runs.Settings) {
	for _, n := range [][2]*config.Named{
		{&recipe.Loss.Named, &run.Loss.Named}, {&recipe.Model.Backbone, &run.Model.Backbone},
		{&recipe.Sampler.Named, &run.Sampler.Named}, {&recipe.Optim.Named, &run.Optim.Named},
		{&recipe.Optim.Proxies, &run.Optim.Proxies}, {&recipe.Schedule.Named, &run.Schedule.Named},
		{&recipe.Schedule.Proxies, &run.Schedule.Proxies},
	} {
		if n[0].Name != n[1].Name {
			maps.DeleteFunc(n[1].Settings, func(key string, value any) bool {
				was, set := n[0].Settings[key]
				return set && reflect.DeepEqual(was, value)
			})
		}
	}
}
