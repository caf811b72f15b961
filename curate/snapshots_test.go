package curate

import (
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

// A Restore brings back the state of a snapshot, with what was undone since, and a Revert of it the state before.
// A replay of the log leads to the same state, and so does a session whose journal has lost its first edits.
func TestRestoreBringsBackASnapshot(t *testing.T) {
	for _, room := range []int{journalRoom, 0} {
		s := snapshotSession(t)
		s.journal.room = room
		make := func(e Edit) string {
			t.Helper()
			e.Base = s.Version()
			if _, err := s.Apply(e, nil); err != nil {
				t.Fatal(err)
			}
			return standings(s)
		}
		make(Edit{Op: Accept, From: refs("a"), To: "x"})
		before := make(Edit{Op: Move, From: refs("b"), To: "y"})
		if got := make(Edit{Op: Snapshot, Note: "lunch"}); got != before {
			t.Errorf("a snapshot changed %s to %s", before, got)
		}
		if undo, _ := s.Undo(""); undo != 2 {
			t.Errorf("after a snapshot, undo is of edit %d, want 2", undo)
		}
		make(Edit{Op: Revert, Of: 2})
		after := make(Edit{Op: Drop, From: refs("c")})
		changes, err := s.ChangesBetween(3, s.Version())
		want := []TagChange{{1, "y", "x (open)"}, {2, "x (open)", "(dropped)"}}
		if err != nil || !slices.Equal(changes, want) {
			t.Errorf("since the snapshot %+v changed (%v), want %+v", changes, err, want)
		}
		back, err := s.ChangesBetween(5, 3)
		if want := []TagChange{{1, "x (open)", "y"}, {2, "(dropped)", "x (open)"}}; err != nil || !slices.Equal(back, want) {
			t.Errorf("back to the snapshot %+v changes (%v), want %+v", back, err, want)
		}
		if same, err := s.ChangesBetween(3, 2); err != nil || len(same) > 0 {
			t.Errorf("a snapshot differs from the edit before it: %+v (%v)", same, err)
		}
		text := "       1  \"b\": \"y\" -> \"x\" (open)\n       1  \"c\": \"x\" (open) -> (dropped)\n"
		if got := s.ChangesText(changes); got != text {
			t.Errorf("the changes read\n%swant\n%s", got, text)
		}
		if lost, back := RestoreEffect(s.Edits(), 3); lost != 1 || back != 1 {
			t.Errorf("restoring takes %d edits out of force and %d back, want 1 (drop c) and 1 (move b)", lost, back)
		}
		if got := standings(s); got != after {
			t.Errorf("comparing changed %s to %s", after, got)
		}
		if got := make(Edit{Op: Restore, Of: 3}); got != before {
			t.Errorf("restoring led to %s, want %s", got, before)
		}
		if got := make(Edit{Op: Revert, Of: 6}); got != after {
			t.Errorf("undoing that led to %s, want %s", got, after)
		}
		make(Edit{Op: Restore, Of: 3})
		again := snapshotSession(t)
		if report, err := again.Load(s.Edits()); err != nil || standings(again) != before || report.Applied != 2 {
			t.Errorf("a replay led to %s (%+v, %v), want %s", standings(again), report, err, before)
		}
		if list := Snapshots(s.Edits()); len(list) != 1 || list[0].Name != "lunch" || list[0].Edits != 2 {
			t.Errorf("the snapshots are %+v", list)
		}
		for _, e := range []Edit{{Op: Restore, Of: 1}, {Op: Restore}, {Op: Restore, Of: 99}, {Op: Snapshot},
			{Op: Snapshot, Note: "x", From: refs("a")}} {
			e.Base = s.Version()
			if _, err := s.Apply(e, nil); err == nil {
				t.Errorf("%+v was taken", e)
			}
		}
		if _, err := s.ChangesBetween(99, s.Version()); err == nil {
			t.Error("a version that does not exist was compared")
		}
	}
}

func snapshotSession(t *testing.T) *Session {
	t.Helper()
	d := &labels.Draft{Version: labels.DraftVersion,
		Clusters: []labels.Cluster{{Name: "x", Members: []labels.Member{{Tag: 0}, {Tag: 1}, {Tag: 2}}}}}
	for _, name := range []string{"a", "b", "c"} {
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: name}, Landmarks: 1})
	}
	s := must.Get(NewSession(d, nil))(t)
	return s
}

// standings says where all tags are.
func standings(s *Session) string {
	var list []string
	for i := range s.state.levels[0] {
		list = append(list, s.state.standing(i))
	}
	return strings.Join(list, ", ")
}
