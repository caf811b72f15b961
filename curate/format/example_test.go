package format_test

import (
	"fmt"
	"log"
	"os"

	"hgld/curate/format"
	"hgld/labels"
)

// The authors' spreadsheet has two columns per group: names, and numbers of landmarks. Read
// recognises it. A list of groups has no tags, and Write says that they are lost.
func ExampleRead() {
	const sheet = `church,10256,lake,1322
parish church,9034,lake,1320
chapel,1222,pond,2
`
	d, err := format.Read([]byte(sheet), "sheet.csv", "", labels.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, tag := range d.Hierarchy.Levels[0].Classes {
		fmt.Printf("%s: %d landmarks, in %s\n", tag.Name, d.Landmarks[0][tag.Name], d.Groups()[tag.Parent])
	}
	lost, err := d.Write(os.Stdout, "groups")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("lost:", lost)
	// Output:
	// parish church: 9034 landmarks, in church
	// chapel: 1222 landmarks, in church
	// lake: 1320 landmarks, in lake
	// pond: 2 landmarks, in lake
	// group,parent,landmarks
	// church,,10256
	// lake,,1322
	// lost: [4 tags]
}
