package labels_test

import (
	"fmt"
	"log"
	"strings"

	"hgld/labels"
)

// Read reads a label file of any form. The split of these landmarks comes from the file's name.
func ExampleRead() {
	const file = `landmark_id,hierarchical_label,natural_or_human_made
0,church,human-made
3,lake,natural
7,bridge,human-made
`
	table, err := labels.Read(strings.NewReader(file), "train.csv", labels.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range table.Rows {
		fmt.Println(row.Split, row.Landmark, row.Names, row.Path)
	}
	church, bridge := table.Rows[0].Path, table.Rows[2].Path
	fmt.Println("levels shared:", church.Shared(bridge))
	// Output:
	// train 0 [train/0 church human-made] [0 0 0]
	// train 3 [train/3 lake natural] [1 1 1]
	// train 7 [train/7 bridge human-made] [2 2 0]
	// levels shared: 1
}

// The path of a tag leads to the classes above it.
func ExampleReadHierarchy() {
	const file = `{"hgld_hierarchy": 1, "levels": [
		{"name": "tag", "classes": [{"name": "chapel", "parent": 0}, {"name": "pond", "parent": 1}]},
		{"name": "supercategory", "classes": [{"name": "church", "parent": 0}, {"name": "lake", "parent": 1}]},
		{"name": "kind", "classes": [{"name": "human-made", "parent": -1}, {"name": "natural", "parent": -1}]}
	]}`
	h, err := labels.ReadHierarchy(strings.NewReader(file), "hierarchy.json")
	if err != nil {
		log.Fatal(err)
	}
	path, ok := h.Path("chapel")
	fmt.Println(path, ok, h.Names(path))
	// Output:
	// [0 0 0] true [chapel church human-made]
}

// Scraped tags and a curated hierarchy give every landmark its classes, or the reason why it has none.
func ExampleBuild() {
	tree := labels.NewBuilder("tag", "supercategory", "kind")
	for _, names := range [][]string{{"chapel", "church", "human-made"}, {"pond", "lake", "natural"}} {
		if _, err := tree.Add(labels.Row{Names: names}); err != nil {
			log.Fatal(err)
		}
	}
	scraped := []labels.Record{
		{Split: labels.Train, Landmark: 5, Outcome: labels.OK, Tag: "pond"},
		{Split: labels.Train, Landmark: 2, Outcome: labels.OK, Tag: "chapel"},
		{Split: labels.Train, Landmark: 9, Outcome: labels.OK, Tag: "asteroid"},
	}
	table, err := labels.Build(scraped, tree.Hierarchy())
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range table.Rows {
		fmt.Printf("%d %q, reason %q\n", row.Landmark, row.Names, row.Reason)
	}
	// Output:
	// 2 ["train/2" "church" "human-made"], reason ""
	// 5 ["train/5" "lake" "natural"], reason ""
	// 9 ["train/9" "" ""], reason "tag_unknown"
}
