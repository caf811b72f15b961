package labels

import (
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// The Wikidata item of a landmark gets from its record into the label files, and out of them again. Files without any
// keep their columns.
func TestItemOfALandmarkIsInTheLabels(t *testing.T) {
	records := []Record{{Landmark: 5, Split: Train, Outcome: OK, Tag: "lake", Category: "u", Item: "Q243"},
		{Landmark: 6, Split: Train, Outcome: OK, Tag: "lake", Category: "v"}}
	table := must.Get(Build(records, hierarchyOf(t)))(t)
	for form, column := range map[Form]bool{HierarchicalForm: true, LevelsForm: true, ThreeColumnForm: false} {
		text := mustWrite(t, table, form)
		head, _, _ := strings.Cut(text, "\n")
		if strings.Contains(head, "wikidata_id") != column {
			t.Errorf("%s: the columns are %s", form, head)
		}
		again := must.Get(Parse(strings.NewReader(text), "labels.csv", ReadOptions{Split: Train}))(t)
		if got := again.Rows[0].Item; column && (got != "Q243" || again.Rows[1].Item != "") {
			t.Errorf("%s: item %q", form, got)
		}
	}
	var text strings.Builder
	must.Do(t, WriteTable(&text, table))
	again, err := ParseTable(strings.NewReader(text.String()), "labels.json")
	if err != nil || again.Rows[0].Item != "Q243" {
		t.Errorf("labels.json: %v, %v", again, err)
	}
	bare := &Table{Levels: table.Levels, Rows: []LandmarkLabel{table.Rows[0]}}
	bare.Rows[0].Item = ""
	if n, err := bare.Fill(table); err != nil || n != 1 || bare.Rows[0].Item != "Q243" {
		t.Errorf("filled %d, %v: %+v", n, err, bare.Rows[0])
	}
}
