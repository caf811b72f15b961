package curate

import (
	"fmt"
	"strings"
	"testing"
)

// The history of a tag has the proposals with score and reason, and no edit that was taken back.
func TestTagEditsAreTheHistoryOfATag(t *testing.T) {
	s := start(t, churches(t))
	do(t, s, Edit{Op: Propose, Note: "from a model", Parts: []Part{{To: "worship", Members: refs("chapel@Q2", "cathedral"),
		Scores: []float64{.9, .4}, Reasons: []string{"a small church", ""}}}},
		Edit{Op: Move, From: refs("chapel@Q2"), To: "church"},
		Edit{Op: Revert, Of: 2},
		Edit{Op: Confirm, Parts: []Part{{To: "worship", Members: refs("chapel@Q2")}}},
		Edit{Op: Rename, Level: 1, From: refs("worship"), To: "worship house"})
	var got []string
	tag, _ := s.Find(Ref{Name: "chapel", QID: "Q2"})
	for _, e := range s.TagEdits(tag) {
		score := -1.0
		if e.Score != nil {
			score = *e.Score
		}
		got = append(got, fmt.Sprintf("%s %s %v %s", e.Edit.Op, e.To, score, e.Reason))
	}
	if text := strings.Join(got, "; "); text != "propose worship 0.9 a small church; confirm worship -1 " {
		t.Errorf("the history is %q", text)
	}
	wrong := Edit{Base: s.Version(), Op: Propose,
		Parts: []Part{{To: "a", Members: refs("hill"), Reasons: []string{"x", "y"}}}}
	if _, err := s.Apply(wrong, nil); err == nil || !strings.Contains(err.Error(), "2 reasons of 1 members") {
		t.Errorf("two reasons of one tag: %v", err)
	}
}
