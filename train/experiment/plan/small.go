package plan

import (
	_ "embed"

	"hgld/internal/settings"
)

// smallFile holds the settings of small runs: one file, applied after the options of a variant. It
// keeps the loss with its settings and replaces what makes a published run long.
const smallFile = "small.yaml"

// small returns the settings of small runs.
func small() source {
	text, err := files.ReadFile(smallFile)
	if err != nil {
		panic(err) // it is embedded
	}
	return trainOf(smallFile, string(text))
}

// recipeSource returns the settings of a recipe.
func recipeSource(r *Recipe) source { return trainOf(r.Name+".yaml", r.Text) }

// trainOf returns the section train of a file of hgld, which its tests have read.
func trainOf(file, text string) source {
	root, _ := settings.Document(file, []byte(text))
	return source{file, settings.Lookup(root, "train")}
}
