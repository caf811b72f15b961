package report

import (
	"math"
	"testing"

	"hgld/train/retrieval"
)

func TestMeansAreShownInPercent(t *testing.T) {
	table := &MeanTable{Names: []string{"AP", "R@1"},
		Rows: []MeanRow{{File: "fine.json", Level: "é", Values: map[string]retrieval.Number{"AP": 0.5,
			"R@1": retrieval.Number(math.NaN())}}},
		Overall: map[string]retrieval.Number{"AP": 0.12345, "R@1": 1}}
	want := "%                 AP      R@1\n" +
		"fine.json é    50.00        –\n" +
		"overall        12.35   100.00\n"
	if got := table.Text(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
