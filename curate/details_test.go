package curate

import (
	"slices"
	"testing"
)

// Every kind of difference is named once, from either side; the labels that a renamed group takes with it are not
// differences of its own here.
func TestDetailsNameWhatElseDiffers(t *testing.T) {
	s := start(t, churches(t))
	do(t, s,
		Edit{Op: SetParent, Level: 1, From: refs("peak"), To: "natural"},
		Edit{Op: Drop, From: refs("hill"), Note: "too small"},
		Edit{Op: Snapshot, Note: "lunch"},
		Edit{Op: SetParent, Level: 1, From: refs("peak"), To: "human-made"},
		Edit{Op: Rename, Level: 1, From: refs("church"), To: "sacred"},
		Edit{Op: Note, Level: 1, From: refs("bridge"), Note: "and tunnels"},
		Edit{Op: Note, From: refs("aqueduct@Q4"), Note: "carries water"},
		Edit{Op: ExtraParent, From: refs("aqueduct@Q4"), To: "river"},
		Edit{Op: Flag, From: refs("volcano")},
		Edit{Op: Drop, From: refs("hill"), Note: "no landmark"},
	)
	of := func(level int, name, what, was, is string) Detail {
		return Detail{Level: level, Ref: refs(name)[0], What: what, Was: was, Is: is}
	}
	want := []Detail{of(2, "human-made", "class", "", "human-made"),
		of(1, "bridge", "note", "", "and tunnels"), of(1, "peak", "kind", "natural", "human-made"),
		of(1, "river", "class", "", "river"), of(1, "sacred", "name", "church", "sacred"),
		of(0, "hill", "reason", "too small", "no landmark"), of(0, "volcano", "flag", "", "no reason"),
		of(0, "aqueduct@Q4", "extra parents", "", "river"), of(0, "aqueduct@Q4", "note", "", "carries water")}
	got, err := s.DetailsBetween(3, s.Version())
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("since lunch: %v\n%s\nwant\n%s", err, s.DetailsText(got), s.DetailsText(want))
	}
	back, err := s.DetailsBetween(s.Version(), 3)
	if err != nil || len(back) != len(want) {
		t.Errorf("back to lunch: %v\n%s\nwant %d", err, s.DetailsText(back), len(want))
	}
	if same, err := s.DetailsBetween(3, 2); err != nil || len(same) > 0 {
		t.Errorf("a snapshot differs from the edit before: %v, %v", same, err)
	}
	line := "kind \"human-made\": new\nsupercategory \"bridge\": note (none) -> \"and tunnels\"\n"
	if text := s.DetailsText(got[:2]); text != line {
		t.Errorf("a detail reads %q, want %q", text, line)
	}
}
