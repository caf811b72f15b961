package curate

import (
	"slices"
	"testing"
)

func TestChangedListsTheNodesOfTheLastEdit(t *testing.T) {
	s := start(t, churches(t))
	do(t, s, Edit{Op: Move, From: refs("hill", "aqueduct@Q4"), To: "landform"})
	// hill and aqueduct; peak and bridge have a child less, landform is new.
	if want := []Place{{0, 4}, {0, 7}, {1, 1}, {1, 2}, {1, 3}}; !slices.Equal(s.Changed(), want) {
		t.Errorf("changed %v, want %v", s.Changed(), want)
	}
	if n := s.Node(0, 4); n.Name != "hill" || n.Parent != 3 || !n.Decided || s.Node(1, 3).Name != "landform" ||
		s.Size(1) != 4 {
		t.Errorf("hill is %+v, level 1 has %d places", n, s.Size(1))
	}
	do(t, s, Edit{Op: Revert, Of: 1})
	if want := []Place{{0, 4}, {0, 7}, {1, 1}, {1, 2}}; !slices.Equal(s.Changed(), want) || s.Size(1) != 3 {
		t.Errorf("after the revert changed %v, want %v; %d places", s.Changed(), want, s.Size(1))
	}
}

func TestUndoAndRedoFollowTheLog(t *testing.T) {
	s := start(t, churches(t))
	check := func(what string, undo, redo int) {
		t.Helper()
		if u, r := s.Undo("anna"); u != undo || r != redo {
			t.Errorf("%s: undo %d and redo %d, want %d and %d", what, u, r, undo, redo)
		}
	}
	check("at the start", 0, 0)
	do(t, s, Edit{Op: Move, From: refs("hill"), To: "a"}, Edit{Op: Move, From: refs("volcano"), To: "b"})
	check("after two edits", 2, 0)
	do(t, s, Edit{Op: Revert, Of: 2})
	check("undone once", 1, 3)
	do(t, s, Edit{Op: Revert, Of: 1})
	check("undone twice", 0, 4)
	do(t, s, Edit{Op: Revert, Of: 4})
	check("redone once", 1, 3)
	do(t, s, Edit{Op: Revert, Of: 3})
	check("redone twice", 2, 0)
	do(t, s, Edit{Op: Revert, Of: 2})
	check("undone again", 1, 7)
	do(t, s, Edit{Op: Drop, From: refs("bridge")})
	check("another edit ends what can be redone", 8, 0)
}

// Undo is a curator's own: of two who edit one log, neither takes back what the other did.
func TestUndoIsOfTheCuratorsOwnEdits(t *testing.T) {
	s := start(t, churches(t))
	do(t, s, Edit{Op: Move, From: refs("hill"), To: "a"}, Edit{Op: Move, From: refs("volcano"), To: "b", By: "ben"})
	for by, want := range map[string][2]int{"anna": {1, 0}, "ben": {2, 0}, "carla": {0, 0}} {
		if u, r := s.Undo(by); u != want[0] || r != want[1] || s.Last() != 2 {
			t.Errorf("%s: undo %d, redo %d, last %d; want %v and 2", by, u, r, s.Last(), want)
		}
	}
	do(t, s, Edit{Op: Revert, Of: 1}, Edit{Op: Drop, From: refs("bridge"), By: "ben"})
	if u, r := s.Undo("anna"); u != 0 || r != 3 {
		t.Errorf("after an edit of ben, anna's undo is %d and redo %d, want 0 and 3", u, r)
	}
}

// A thread belongs to the group, whatever it is called. One that takes the old name has its own.
func TestNotesFollowARenamedGroup(t *testing.T) {
	s := start(t, churches(t))
	do(t, s,
		Edit{Op: Note, Level: 1, From: refs("church"), Note: "of stone"},
		Edit{Op: Rename, Level: 1, From: refs("church"), To: "sacred"},
		Edit{Op: Note, Level: 1, From: refs("sacred"), Note: "or of wood"},
		Edit{Op: SetParent, Level: 1, From: refs("church")},
		Edit{Op: Note, Level: 1, From: refs("church"), Note: "another"},
	)
	texts := func(list []Edit) (all []string) {
		for _, e := range list {
			all = append(all, e.Note)
		}
		return all
	}
	for name, want := range map[string][]string{"sacred": {"of stone", "or of wood"}, "church": {"another"}} {
		at := s.state.index[1][Ref{Name: name}]
		if got := texts(s.Notes(1, int(at))); !slices.Equal(got, want) {
			t.Errorf("notes on %q: %q, want %q", name, got, want)
		}
	}
}
