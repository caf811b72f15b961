package labels

import (
	"slices"
	"testing"
)

// A name with {split} gives a file to each split with its tags as scraped. The table keeps its own
// tags.
func TestRowsAreAssignedToTheFilesOfTheirSplits(t *testing.T) {
	table := &Table{Rows: []LandmarkLabel{{Split: Index, Landmark: 1, Tag: "church", Raw: "Church"},
		{Split: Train, Landmark: 2, Tag: "mill", Raw: "Mill"}, {Split: Index, Landmark: 3, Tag: "dam", Raw: "Dam"}}}
	rows := map[string]int{}
	for _, p := range table.BySplit("{split}/of_{split}.csv") {
		rows[p.Path] = len(p.Table.Rows)
		for _, r := range p.Table.Rows {
			if string(r.Tag) != string(r.Raw) {
				t.Errorf("%s has the tag %q, want %q", p.Path, r.Tag, r.Raw)
			}
		}
	}
	if len(rows) != 2 || rows["index/of_index.csv"] != 2 || rows["train/of_train.csv"] != 1 {
		t.Errorf("rows %v", rows)
	}
	if parts := table.BySplit("l.csv"); len(parts) != 1 || parts[0] != (Part{"l.csv", table}) ||
		table.Rows[0].Tag != "church" {
		t.Errorf("%+v", parts)
	}
}

func TestPartNamesHaveEverySplit(t *testing.T) {
	if got := PartNames("l.csv"); !slices.Equal(got, []string{"l.csv"}) {
		t.Errorf("%q", got)
	}
	got := PartNames("{split}/of_{split}.csv")
	if len(got) != len(Splits) || !slices.Contains(got, "train/of_train.csv") ||
		!slices.Contains(got, "index/of_index.csv") {
		t.Errorf("%q", got)
	}
}
