package plan

import (
	"strings"
	"testing"

	"hgld/train/experiment/runs"
)

func TestNotesAreBrokenIntoLines(t *testing.T) {
	r := Recipe{Name: "a/b", About: "a run", Data: strings.Repeat("é", 90) + " 12345 6", Guessed: []string{"all of it"}}
	want := "a/b: a run\n" +
		"data     " + strings.Repeat("é", 90) + " 12345\n" +
		"         6\n" +
		"guessed  all of it\n" +
		"run      differs from the recipe: k is 2, 1 in the recipe\n"
	if got := r.Notes(ChangeText(runs.Change{Key: "k", From: "1", To: "2"})); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
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
