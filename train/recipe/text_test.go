package recipe

import (
	"math"
	"strings"
	"testing"

	"hgld/train/history"
	"hgld/train/retrieval"
)

func TestNotesAreBrokenIntoLines(t *testing.T) {
	r := Recipe{Name: "a/b", About: "a run", Data: strings.Repeat("é", 90) + " 12345 6", Guessed: []string{"all of it"}}
	want := "a/b: a run\n" +
		"data     " + strings.Repeat("é", 90) + " 12345\n" +
		"         6\n" +
		"guessed  all of it\n" +
		"run      differs from the recipe: k is 2, 1 in the recipe\n"
	if got := r.Notes(ChangeText(history.Change{Key: "k", From: "1", To: "2"})); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestRowsShowTheRunOnlyIfItHasANumber(t *testing.T) {
	none := retrieval.Number(math.NaN())
	row := ComparedRow{Paper: "P", Table: "2", Method: "m", Part: "sop", Numbers: []ComparedNumber{{"AP", 50.04, none}}}
	want := "\nP, table 2, m on sop (quoted, %)\n" +
		"metric              paper\n" +
		"AP                   50.0\n"
	if got := RowsText([]ComparedRow{row}); got != want {
		t.Errorf("without a run:\n%swant\n%s", got, want)
	}
	row.Numbers = append(row.Numbers, ComparedNumber{"NDCG", 60, 61.5})
	want = "\nP, table 2, m on sop (quoted, %)\n" +
		"metric              paper      run run−paper\n" +
		"AP                   50.0        –         –\n" +
		"NDCG                 60.0     61.5       1.5\n"
	if got := RowsText([]ComparedRow{row}); got != want {
		t.Errorf("with a run:\n%swant\n%s", got, want)
	}
}

func TestListNamesTheTables(t *testing.T) {
	list := []Recipe{{Name: "sop/x", About: "x", Rows: []Place{{Table: "1"}, {Table: "3"}}}}
	want := "recipe                           tables           run\n" +
		"sop/x                            1, 3             x\n"
	if got := ListText(list); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
