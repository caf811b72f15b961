package format

import (
	"testing"

	"hgld/internal/testing/longdata"
	"hgld/labels"
)

func TestErrorsQuoteBoundedText(t *testing.T) {
	d := &Document{
		Hierarchy: &labels.Hierarchy{Version: labels.HierarchyVersion, Levels: []labels.Level{
			{Name: "tag", Classes: []labels.Class{{Name: "lake", QID: "Q23397", Parent: 0},
				{Name: "bay", Parent: -1, Note: "a", Proposed: "water"}}},
			{Name: "supercategory", Classes: []labels.Class{{Name: "water", Parent: 0}}},
			{Name: "kind", Classes: []labels.Class{{Name: "natural", Parent: -1}}},
		}},
		Landmarks: []map[string]int{{"lake": 3, "bay": 2}, {"water": 3}},
	}
	for _, f := range Formats {
		if f.Name == "labels" { // package labels reads it, and tests it
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			longdata.Replace(t, write(t, d, f.Name), func(data []byte) error {
				_, err := Read(data, "file", f.Name, labels.ReadOptions{Split: labels.Train})
				return err
			})
		})
	}
}
