package curate

import (
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

func TestEditTextNamesOperationAndReferences(t *testing.T) {
	for want, e := range map[string]Edit{
		`move "church" (Q1) -> "temple" ("old")`:   {Op: Move, From: refs("church@Q1"), To: "temple", Note: "old"},
		"revert 3":                                 {Op: Revert, Of: 3},
		`split "all" -> "a": "x"; "b": "y", "z"`:   {Op: Split, From: refs("all"), Parts: parts("a", "x", "b", "y z")},
		`drop "a", "b", "c", "d", "e", and 2 more`: {Op: Drop, From: refs("a", "b", "c", "d", "e", "f", "g")},
	} {
		if got := e.Text(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// parts makes the parts of a split from pairs of a name and its members.
func parts(pairs ...string) (list []Part) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, Part{To: pairs[i], Members: refs(strings.Fields(pairs[i+1])...)})
	}
	return list
}

func TestLogFileTextListsConflicts(t *testing.T) {
	l := LogFile{Name: "anna.jsonl", Report: Report{Edits: 4, Applied: 2, Partly: 1, TargetGone: 1, Conflicts: []Replayed{
		{Seq: 3, Op: Move, Outcome: Partly, Reason: "not in the draft: ", Missing: refs("a", "b@Q2")}}}}
	want := "anna.jsonl: 4 edits: 2 applied, 1 done in part, 1 with a target that is gone\n" +
		"  edit 3, move, partly: not in the draft: \"a\", \"b\" (Q2)\n"
	if got := l.Text(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestCurationTextListsOpenDifferences(t *testing.T) {
	move := func(to string) []Edit { return []Edit{{Op: Move, From: refs("church@Q1"), To: to}} }
	dir := written(t, churches(t), map[string][]Edit{"anna.jsonl": move("peak"), "ben.jsonl": move("bridge")})
	both := []string{filepath.Join(dir, "anna.jsonl"), filepath.Join(dir, "ben.jsonl")}
	third := filepath.Join(dir, "third.jsonl")
	appendTo(t, third, filepath.Join(dir, "draft.json"), both)
	c := curationOf(t, dir, "anna.jsonl", "ben.jsonl", "third.jsonl")
	s := must.Get(c.Replay(Stop))(t)
	if got, want := c.LeftText(s), "1 difference of the curators left open"; got != want {
		t.Errorf("left is %q, want %q", got, want)
	}
	if got, want := LogsText(c.Logs), "anna.jsonl (1 edit), ben.jsonl (1 edit), third.jsonl (0 edits)"; got != want {
		t.Errorf("the logs are %q, want %q", got, want)
	}
	lost, err := LostText(filepath.Join(dir, "draft.json"), c.Logs)
	if want := "anna.jsonl would lose 0 of its 1 edit there; ben.jsonl would lose 0 of its 1 edit there; " +
		"third.jsonl decides between others and is carried over with them"; err != nil || lost != want {
		t.Errorf("lost is %q, want %q (%v)", lost, want, err)
	}
}
