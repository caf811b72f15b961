package curate

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"hgld/labels"
)

// oracle is the definition of the state: the active edits replayed on the draft without a journal.
func oracle(t *testing.T, d *labels.Draft, edits []Edit, tolerant bool) *state {
	t.Helper()
	s := newState(d, len(DefaultLevels))
	f := s.exact()
	if tolerant {
		f.tags = s.table()
	}
	for i, on := range Active(edits) {
		if !on || edits[i].ofLog() {
			continue
		}
		if _, err := s.apply(f, &edits[i]); err != nil && !tolerant {
			t.Fatalf("edit %d: %v", i+1, err)
		}
	}
	return s
}

// check compares a state with another and its indices with its nodes.
func (s *state) check(t *testing.T, seed uint64, want *state) {
	t.Helper()
	for l, nodes := range s.levels {
		if !slices.Equal(nodes, want.levels[l]) {
			t.Fatalf("seed %d, level %d:\n%+v, want\n%+v", seed, l, nodes, want.levels[l])
		}
		children := make([]int32, len(nodes))
		for _, n := range s.levels[max(l-1, 0)] {
			if l > 0 && n.parent >= 0 {
				children[n.parent]++
			}
		}
		index := map[Ref]int32{}
		for i, n := range nodes {
			if !n.gone {
				index[n.Ref] = int32(i)
			}
			if n.children != children[i] {
				t.Fatalf("seed %d, level %d: %+v has %d children", seed, l, n, children[i])
			}
		}
		if !reflect.DeepEqual(index, s.index[l]) {
			t.Fatalf("seed %d, level %d: the index is %v, want %v", seed, l, s.index[l], index)
		}
	}
}

var errDisk = errors.New("no space left")

// checkJournal makes random edits. Some are impossible, some are reverts and some fail to be saved.
// room is that of the journal. A small journal drops records; checkJournal reports whether it did,
// because not every seed leads to that.
func checkJournal(t *testing.T, s *Session, seed uint64, edits, room int) (forgot bool) {
	random := rand.New(rand.NewPCG(seed, 2))
	s.journal.room = room
	for range edits {
		e := randomEdit(s, random)
		if e.Op != Revert && random.IntN(3) == 0 { // more of them than one in ten
			e = Edit{Base: s.Version(), Op: Revert, Of: 1 + random.IntN(s.Version()+1)}
		}
		switch named := Snapshots(s.edits); {
		case random.IntN(12) == 0:
			e = Edit{Base: s.Version(), Op: Snapshot, Note: "name"}
		case len(named) > 0 && random.IntN(12) == 0:
			e = Edit{Base: s.Version(), Op: Restore, Of: named[random.IntN(len(named))].Seq}
		}
		save := func(Edit) error {
			if random.IntN(4) == 0 {
				return errDisk
			}
			return nil
		}
		before := s.state.clone()
		version := s.Version()
		_, err := s.Apply(e, save)
		if err != nil {
			if s.Version() != version {
				t.Fatalf("seed %d: %s was refused (%v) and is edit %d", seed, e.Op, err, s.Version())
			}
			s.state.check(t, seed, before)
			continue
		}
		s.state.check(t, seed, oracle(t, s.draft, s.edits, s.tolerant))
		var changed []Place
		for l, nodes := range s.state.levels {
			for i, n := range nodes {
				if i >= len(before.levels[l]) || n != before.levels[l][i] {
					changed = append(changed, Place{l, i})
				}
			}
		}
		if !slices.Equal(s.Changed(), changed) {
			t.Fatalf("seed %d: %s changed %v, want %v", seed, e.Op, s.Changed(), changed)
		}
		forgot = forgot || s.journal.lost > 0
	}
	return forgot
}

func TestStateEqualsReplayOfActiveEdits(t *testing.T) {
	forgot := 0
	for seed := range uint64(80) {
		checkJournal(t, start(t, churches(t)), seed, 60, journalRoom)
		if checkJournal(t, start(t, churches(t)), seed, 60, 6) {
			forgot++
		}
	}
	if forgot < 60 {
		t.Errorf("a journal of 6 records gave some up in %d of 80 sessions; the sessions are too short to test it", forgot)
	}
}

func FuzzStateEqualsReplayOfActiveEdits(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		checkJournal(t, start(t, churches(t)), seed, 60, journalRoom)
		checkJournal(t, start(t, churches(t)), seed, 60, 6)
	})
}

func TestStateEqualsReplayOnAnotherDraft(t *testing.T) {
	other := draftOf(t, "peak: mountain@Q3 hillock", "church: church chapel2@Q2 temple", "span: bridge@Q77 viaduct@Q4")
	forgot := 0
	for seed := range uint64(40) {
		for _, room := range []int{journalRoom, 6} {
			s := start(t, other)
			if _, err := s.Replay(wander(t, churches(t), seed, 30).Edits(), Skip); err != nil {
				t.Fatal(err)
			}
			if checkJournal(t, s, seed, 30, room) {
				forgot++
			}
		}
	}
	if forgot < 20 {
		t.Errorf("journals of 6 records gave some up in %d of 40 sessions; the sessions are too short to test it", forgot)
	}
}

// A log that cannot be replayed leaves the session without edits, even if some of them were
// applied.
func TestFailedReplayLeavesTheSessionEmpty(t *testing.T) {
	for _, room := range []int{journalRoom, 1} {
		s := start(t, churches(t))
		s.journal.room = room
		before := s.state.clone()
		edits := []Edit{
			{Seq: 1, Op: Move, From: refs("hill", "bridge"), To: "new"},
			{Seq: 2, Base: 1, Op: Move, From: refs("volcano"), To: "new"},
			{Seq: 3, Base: 2, Op: Drop, From: refs("volcano", "nothing")},
		}
		if _, err := s.Load(edits); err == nil {
			t.Fatal("a log of another draft was loaded")
		}
		s.state.check(t, 0, before)
		if _, err := s.Load(edits[:2]); err != nil || s.Version() != 2 {
			t.Errorf("the good part of it: version %d, %v", s.Version(), err)
		}
	}
}
