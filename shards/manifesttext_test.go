package shards

import (
	"strings"
	"testing"

	"hgld/labels"
)

func TestManifestAsTextCountsTheClassesLeftOut(t *testing.T) {
	m := &Manifest{Files: []File{{Name: "train-0.parquet", Rows: 3, Split: labels.Train}}, Levels: []Level{{Name: "fine",
		Column: "label_0", Classes: []string{"a", "b", "c"}, Rows: map[labels.Split][]int{labels.Train: {11, 22, 33}}}}}
	for limit, want := range map[int]string{0: "33", 2: "… 1 more; --all prints them\n"} {
		text := m.Text(limit, "--all prints them")
		if !strings.Contains(text, want) || strings.Contains(text, "33") == (limit == 2) {
			t.Errorf("limit %d:\n%s", limit, text)
		}
	}
}
