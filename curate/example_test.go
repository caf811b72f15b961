package curate_test

import (
	"fmt"
	"log"

	"hgld/curate"
	"hgld/labels"
)

// A curator moves a tag to a new group and undoes the edit.
func ExampleSession() {
	draft := &labels.Draft{
		Version: labels.DraftVersion,
		Tags:    []labels.DraftTag{{Tag: labels.Tag{Name: "chapel"}}, {Tag: labels.Tag{Name: "footbridge"}}},
		Clusters: []labels.Cluster{
			{ID: 0, Name: "church", Members: []labels.Member{{Tag: 0}, {Tag: 1}}},
		},
	}
	s, err := curate.NewSession(draft, curate.DefaultLevels)
	if err != nil {
		log.Fatal(err)
	}
	apply := func(e curate.Edit) {
		e.Base, e.By = s.Version(), "anna"
		if _, err := s.Apply(e, nil); err != nil { // Log.Append in place of nil saves the edit
			log.Fatal(err)
		}
		groups, err := s.Groups(1)
		if err != nil {
			log.Fatal(err)
		}
		for _, g := range groups {
			fmt.Printf("%s %v; ", g.Name, g.Members)
		}
		fmt.Println("version", s.Version())
	}
	apply(curate.Edit{Op: curate.Move, From: []curate.Ref{{Name: "footbridge"}}, To: "bridge"})
	undo, _ := s.Undo("anna")
	apply(curate.Edit{Op: curate.Revert, Of: undo})
	// Output:
	// church ["chapel"]; bridge ["footbridge"]; version 1
	// church ["chapel" "footbridge"]; version 2
}
