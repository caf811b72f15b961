package main

import (
	"io"

	"hgld/curate/format"
	"hgld/labels"
)

// writeTaxonomy writes the class tree of a data set as SKOS in Turtle. For GLDv2 it writes
// supercategories, with their number of landmarks, and kinds. It leaves out the landmarks
// themselves, which are instances and not classes.
func writeTaxonomy(w io.Writer, tree *labels.Hierarchy) error {
	d := &format.Document{Hierarchy: tree}
	if tree.Levels[0].Name == labels.LandmarkLevel && len(tree.Levels) > 2 {
		above, landmarks := tree.Levels[1].Classes, map[string]int{}
		for _, c := range tree.Levels[0].Classes {
			if c.Parent >= 0 {
				landmarks[above[c.Parent].Name]++
			}
		}
		classes := *tree
		classes.Levels = tree.Levels[1:]
		d = &format.Document{Hierarchy: &classes, Landmarks: []map[string]int{landmarks}}
	}
	_, err := d.Write(w, "skos")
	return err
}
