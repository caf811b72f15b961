package recipe

import (
	"slices"

	"hgld/train/history"
)

// Changes lists the settings that affect the result of a run and differ from those of its recipe.
// It ignores the location of the data. A recipe without mean and deviation leaves them to the
// backbone.
func Changes(recipe, run *history.Settings) []history.Change {
	none := [3]float32{}
	return slices.DeleteFunc(history.Changes(recipe, run), func(c history.Change) bool {
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
