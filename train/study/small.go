package study

import (
	_ "embed"

	"go.yaml.in/yaml/v3"

	"hgld/internal/settings"
	"hgld/train/recipe"
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
func recipeSource(r *recipe.Recipe) source { return trainOf(r.Name+".yaml", r.Text) }

// trainOf returns the section train of a file of hgld, which its tests have read.
func trainOf(file, text string) source {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) == 0 {
		return source{file, nil}
	}
	return source{file, settings.Lookup(doc.Content[0], "train")}
}
