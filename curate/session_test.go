package curate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

// draftOf makes a draft from clusters "name: tag tag …"; tags appear in that
// order and have falling numbers of landmarks. A tag "name@Q1" has an item.
func draftOf(t testing.TB, clusters ...string) *labels.Draft {
	t.Helper()
	d := &labels.Draft{Version: labels.DraftVersion}
	for id, c := range clusters {
		name, tags, _ := strings.Cut(c, ": ")
		cluster := labels.Cluster{ID: id, Name: name}
		for _, tag := range strings.Fields(tags) {
			text, qid, _ := strings.Cut(tag, "@")
			cluster.Members = append(cluster.Members, labels.Member{Tag: len(d.Tags)})
			d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: text, QID: qid}, Landmarks: 100 - len(d.Tags)})
		}
		d.Clusters = append(d.Clusters, cluster)
	}
	must.Do(t, d.Check())
	return d
}

func churches(t testing.TB) *labels.Draft {
	return draftOf(t, "church: church@Q1 chapel@Q2 cathedral", "peak: mountain@Q3 hill volcano",
		"bridge: bridge aqueduct@Q4")
}

func start(t testing.TB, d *labels.Draft) *Session {
	t.Helper()
	s := must.Get(NewSession(d, nil))(t)
	return s
}

func refs(names ...string) []Ref {
	var list []Ref
	for _, n := range names {
		name, qid, _ := strings.Cut(n, "@")
		list = append(list, Ref{name, qid})
	}
	return list
}

// do applies edits on the current version; each must be possible.
func do(t testing.TB, s *Session, edits ...Edit) {
	t.Helper()
	for _, e := range edits {
		e.Base, e.By = s.Version(), cmp.Or(e.By, "anna")
		if _, err := s.Apply(e, nil); err != nil {
			t.Fatalf("%s %v: %v", e.Op, e.From, err)
		}
	}
}

// snapshot is the visible state of a session, apart from the order of groups.
func snapshot(t testing.TB, s *Session) map[string]any {
	t.Helper()
	all := map[string]any{}
	for i := range s.Draft().Tags {
		tag := s.Tag(i)
		all["tag "+tag.Ref.String()] = tag
	}
	for l := 1; l < len(s.Levels()); l++ {
		groups := must.Get(s.Groups(l))(t)
		for _, g := range groups {
			if l > 1 { // members of a group of groups come in the order of the groups
				members := map[Ref]bool{}
				for _, m := range g.Members {
					members[m] = true
				}
				all[s.Levels()[l]+" "+g.Name+" members"] = members
				g.Members = nil
			}
			all[s.Levels()[l]+" "+g.Name] = g
		}
	}
	return all
}

func group(t testing.TB, s *Session, level int, name string) *Group {
	t.Helper()
	groups := must.Get(s.Groups(level))(t)
	for _, g := range groups {
		if g.Name == name {
			return &g
		}
	}
	return nil
}

func TestMoveDecidesTagsAndMakesGroups(t *testing.T) {
	s := start(t, churches(t))
	do(t, s, Edit{Op: Move, From: refs("volcano", "aqueduct@Q4"), To: "ocean area "})
	g := group(t, s, 1, "ocean area ")
	if g == nil || !reflect.DeepEqual(g.Members, refs("volcano", "aqueduct@Q4")) || g.Decided != 2 || !g.Declared {
		t.Errorf("group %+v", g)
	}
	if tag := s.Tag(5); tag.Group != "ocean area " || !tag.Decided {
		t.Errorf("volcano is %+v", tag)
	}
	do(t, s, Edit{Op: Accept, From: refs("bridge"), To: "bridge"},
		Edit{Op: Move, From: refs("mountain@Q3", "hill"), To: "bridge"})
	if g := group(t, s, 1, "peak"); g != nil {
		t.Errorf("the cluster peak lost its last tag and is still there: %+v", g)
	}
	do(t, s, Edit{Op: Move, From: refs("volcano", "aqueduct@Q4"), To: "bridge"})
	if g := group(t, s, 1, "ocean area "); g == nil || len(g.Members) != 0 {
		t.Errorf("a declared group must stay when it is empty; got %+v", g)
	}
}

func TestDropKeepsTheReasonUntilTheTagIsMoved(t *testing.T) {
	s := start(t, churches(t))
	do(t, s, Edit{Op: Drop, From: refs("hill"), Note: "too generic"})
	if tag := s.Tag(4); !tag.Dropped || !tag.Decided || tag.Reason != "too generic" || tag.Group != "" {
		t.Errorf("dropped tag %+v", tag)
	}
	do(t, s, Edit{Op: Move, From: refs("hill"), To: "peak"})
	if tag := s.Tag(4); tag.Dropped || tag.Reason != "" || tag.Group != "peak" {
		t.Errorf("moved tag %+v", tag)
	}
}

func TestRenameKeepsMembersAndParent(t *testing.T) {
	s := start(t, churches(t))
	do(t, s,
		Edit{Op: SetParent, Level: 1, From: refs("peak"), To: "natural"},
		Edit{Op: Rename, Level: 1, From: refs("peak"), To: "mountain"})
	if g := group(t, s, 1, "mountain"); g == nil || g.Parent != "natural" || len(g.Members) != 3 {
		t.Errorf("group %+v", g)
	}
	_, err := s.Apply(Edit{Base: 2, Op: Rename, Level: 1, From: refs("mountain"), To: "church"}, nil)
	if err == nil || !strings.Contains(err.Error(), "merge") {
		t.Errorf("rename to a taken name: %v", err)
	}
}

func TestMergeMovesMembers(t *testing.T) {
	s := start(t, churches(t))
	do(t, s,
		Edit{Op: SetParent, Level: 1, From: refs("church", "bridge"), To: "human-made"},
		Edit{Op: Merge, Level: 1, From: refs("church", "bridge"), To: "building"})
	g := group(t, s, 1, "building")
	if g == nil || len(g.Members) != 5 || g.Parent != "human-made" || group(t, s, 1, "church") != nil {
		t.Errorf("merged group %+v", g)
	}
	do(t, s, Edit{Op: Merge, Level: 1, From: refs("peak", "building"), To: "building"})
	if g := group(t, s, 1, "building"); len(g.Members) != 8 || g.Parent != "human-made" {
		t.Errorf("merged into one of them: %+v", g)
	}
	do(t, s, Edit{Op: Merge, Level: 2, From: refs("human-made"), To: "made"})
	if g := group(t, s, 2, "made"); g == nil || len(g.Members) != 1 {
		t.Errorf("merged kinds: %+v", g)
	}
}

func TestSplitListsTheResultingMembers(t *testing.T) {
	s := start(t, churches(t))
	do(t, s, Edit{Op: SetParent, Level: 1, From: refs("church"), To: "human-made"})
	split := Edit{Base: 1, Op: Split, Level: 1, From: refs("church"), Parts: []Part{
		{To: "church", Members: refs("church@Q1", "cathedral")}, {To: "chapel", Members: refs("chapel@Q2")}}}
	for what, change := range map[string]func(*Edit){
		"parts list 2":     func(e *Edit) { e.Parts = e.Parts[:1] },
		"not in":           func(e *Edit) { e.Parts[1].Members = refs("hill") },
		"already":          func(e *Edit) { e.Parts[1].To = "bridge" },
		"there is no tag":  func(e *Edit) { e.Parts[1].Members = refs("chapel") },
		"is repeated":      func(e *Edit) { e.Parts[1].Members = refs("church@Q1") },
		"a unique name":    func(e *Edit) { e.Parts[1].To = "church" },
		"there is no grou": func(e *Edit) { e.From = refs("churches") },
	} {
		wrong := split
		wrong.Parts = append([]Part(nil), split.Parts...)
		change(&wrong)
		if _, err := s.Apply(wrong, nil); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want one with %q", err, what)
		}
	}
	do(t, s, split)
	chapel, church := group(t, s, 1, "chapel"), group(t, s, 1, "church")
	if chapel == nil || chapel.Parent != "human-made" || len(chapel.Members) != 1 || len(church.Members) != 2 ||
		church.Decided != 0 {
		t.Errorf("parts %+v and %+v", chapel, church)
	}
}

func TestNotesAndFlagsStayWithTheirNode(t *testing.T) {
	s := start(t, churches(t))
	do(t, s,
		Edit{Op: Flag, From: refs("hill"), Note: "mountain?"},
		Edit{Op: Note, Level: 1, From: refs("peak"), Note: "see Q8502"},
		Edit{Op: Rename, Level: 1, From: refs("peak"), To: "mountain"})
	if tag := s.Tag(4); !tag.Flagged || tag.Flag != "mountain?" {
		t.Errorf("tag %+v", tag)
	}
	if g := group(t, s, 1, "mountain"); g.Note != "see Q8502" {
		t.Errorf("group %+v", g)
	}
	do(t, s, Edit{Op: Note, Level: 1, From: refs("mountain")})
	if g := group(t, s, 1, "mountain"); g.Note != "" {
		t.Errorf("note %q was not erased", g.Note)
	}
}

func TestRevertOfAnEarlierEditKeepsLaterOnes(t *testing.T) {
	s := start(t, churches(t))
	do(t, s,
		Edit{Op: Move, From: refs("hill"), To: "church"},
		Edit{Op: Rename, Level: 1, From: refs("bridge"), To: "crossing"},
		Edit{Op: Move, From: refs("volcano"), To: "crossing"})
	do(t, s, Edit{Op: Revert, Of: 1})
	if s.Tag(4).Group != "peak" || s.Tag(4).Decided || s.Tag(5).Group != "crossing" {
		t.Errorf("after the revert: hill %+v, volcano %+v", s.Tag(4), s.Tag(5))
	}
	do(t, s, Edit{Op: Revert, Of: 4})
	if s.Tag(4).Group != "church" {
		t.Errorf("after reverting the revert: hill %+v", s.Tag(4))
	}
	for what, of := range map[string]int{"already": 4, "no edit 9": 9, "takes the number": 0} {
		if _, err := s.Apply(Edit{Base: 5, Op: Revert, Of: of}, nil); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("revert of %d: %v, want %q", of, err, what)
		}
	}
	do(t, s,
		Edit{Op: Rename, Level: 1, From: refs("peak"), To: "mountain"},
		Edit{Op: Flag, Level: 1, From: refs("mountain")})
	if _, err := s.Apply(Edit{Base: 7, Op: Revert, Of: 6}, nil); err == nil ||
		!strings.Contains(err.Error(), "edit 7 needs it") {
		t.Errorf("revert of an edit that another needs: %v", err)
	}
}

func TestApplyRejectsStaleAndImpossibleEdits(t *testing.T) {
	s := start(t, churches(t))
	do(t, s, Edit{Op: Move, From: refs("hill"), To: "church"})
	before := snapshot(t, s)
	var stale *StaleError
	if _, err := s.Apply(Edit{Base: 0, Op: Move, From: refs("hill"), To: "peak"}, nil); !errors.As(err, &stale) ||
		stale.Version != 1 {
		t.Errorf("stale edit: %v", err)
	}
	disk := errors.New("disk full")
	if _, err := s.Apply(Edit{Base: 1, Op: Move, From: refs("hill"), To: "peak"},
		func(Edit) error { return disk }); !errors.Is(err, disk) {
		t.Errorf("edit that could not be saved: %v", err)
	}
	for what, e := range map[string]Edit{
		"unknown operation":     {Op: "mvoe", From: refs("hill"), To: "peak"},
		"names no tag or group": {Op: Move, To: "peak"},
		"without the name":      {Op: Move, From: refs("hill")},
		"and 1 others":          {Op: Move, From: refs("hillock", "hill@Q9"), To: "peak"},
		"is repeated":           {Op: Move, From: refs("hill", "hill"), To: "peak"},
		"level 1":               {Op: Drop, Level: 1, From: refs("peak")},
		"level 2":               {Op: SetParent, Level: 2, From: refs("natural"), To: "all"},
		"takes one group":       {Op: Rename, Level: 1, From: refs("peak", "church"), To: "x"},
		"not UTF-8":             {Op: Move, From: refs("hill"), To: "p\xffak"},
		"only split, propose and confirm have parts, and merge can": {Op: Split, Level: 1, From: refs("peak")},
		"takes no target":        {Op: Drop, From: refs("hill"), To: "peak"},
		"but only revert":        {Op: Drop, From: refs("hill"), Of: 1},
		`there is no group "bay`: {Op: Flag, Level: 1, From: refs("bay")},
	} {
		e.Base = 1
		if _, err := s.Apply(e, nil); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want one with %q", err, what)
		}
	}
	if !reflect.DeepEqual(before, snapshot(t, s)) || s.Version() != 1 {
		t.Error("an edit that was refused changed the session")
	}
}

// A flag is replied to and resolved, and its thread is in the log. A reader that does not know the
// field resolved keeps it.
func TestFlagsAreResolved(t *testing.T) {
	s := start(t, churches(t))
	do(t, s, Edit{Op: Flag, By: "anna", From: refs("hill", "volcano"), Note: "mountain?"},
		Edit{Op: Flag, By: "ben", From: refs("hill"), Note: "I think so"})
	if tag := s.Node(0, 4); !tag.Flagged || tag.Flag != "I think so" || tag.FlagBy != "ben" {
		t.Errorf("after a reply: %+v", tag)
	}
	do(t, s, Edit{Op: Flag, By: "anna", From: refs("hill"), Note: "yes", Resolved: true})
	if tag := s.Node(0, 4); tag.Flagged || tag.Flag != "" || tag.FlagBy != "" {
		t.Errorf("after it was resolved: %+v", tag)
	}
	var thread []string
	for _, e := range s.Flags(0, 4) {
		thread = append(thread, fmt.Sprint(e.By, " ", e.Note, " ", e.Resolved))
	}
	if want := []string{"anna mountain? false", "ben I think so false", "anna yes true"}; !slices.Equal(thread, want) {
		t.Errorf("the thread is %q, want %q", thread, want)
	}
	do(t, s, Edit{Op: Revert, Of: 3})
	if !s.Node(0, 4).Flagged || len(s.Flags(0, 4)) != 2 {
		t.Error("undo does not flag it again")
	}
	e := Edit{Op: Move, From: refs("hill"), To: "x", Resolved: true}
	if err := e.Check(3); err == nil {
		t.Error("a move can be resolved")
	}
	line, err := json.Marshal(Edit{Op: Flag, From: refs("hill"), Resolved: true})
	if err != nil || !strings.Contains(string(line), `"resolved":true`) {
		t.Errorf("the line is %s (%v)", line, err)
	}
}

// Notes are a thread, of which the last one stands in the hierarchy. An empty one removes all before it, and
// undo of one takes away that one, whether the journal still has its records or not. An adjudicator's thread
// begins with the note that the curators left.
func TestNotesAreAThread(t *testing.T) {
	for _, room := range []int{journalRoom, 0} {
		s := start(t, churches(t))
		s.journal.room = room
		notes := func(s *Session, what, last, want string) {
			t.Helper()
			var thread []string
			for _, e := range s.Notes(0, 4) {
				thread = append(thread, fmt.Sprint(e.Seq, " ", e.By, " ", e.Note))
			}
			if got := strings.Join(thread, "; "); got != want || s.Tag(4).Note != last || s.Node(0, 4).Note != last {
				t.Errorf("%s: the notes are %q and the last is %q, want %q and %q", what, got, s.Tag(4).Note, want, last)
			}
		}
		do(t, s, Edit{Op: Note, By: "anna", From: refs("hill", "volcano"), Note: "low"},
			Edit{Op: Flag, From: refs("hill"), Note: "look"},
			Edit{Op: Note, By: "ben", From: refs("hill"), Note: "but steep"},
			Edit{Op: Note, By: "ben", Level: 1, From: refs("peak"), Note: "of a group"})
		notes(s, "two notes", "but steep", "1 anna low; 3 ben but steep")
		fork := s.Fork()
		fork.journal.room = room
		notes(fork, "another log begins", "but steep", "0  but steep")
		do(t, fork, Edit{Op: Note, By: "chris", From: refs("hill"), Note: "settled"}, Edit{Op: Flag, From: refs("bridge")})
		notes(fork, "another log goes on", "settled", "0  but steep; 1 chris settled")
		do(t, s, Edit{Op: Revert, Of: 1})
		notes(s, "the first is undone", "but steep", "3 ben but steep")
		do(t, s, Edit{Op: Revert, Of: 3}, Edit{Op: Revert, Of: 5})
		notes(s, "the last is undone", "low", "1 anna low")
		do(t, s, Edit{Op: Note, From: refs("hill")})
		notes(s, "an empty one", "", "")
		do(t, s, Edit{Op: Note, By: "anna", From: refs("hill"), Note: "high"})
		notes(s, "a new one", "high", "9 anna high")
		again := start(t, churches(t))
		if _, err := again.Load(s.Edits()); err != nil {
			t.Fatal(err)
		}
		notes(again, "a replay", "high", "9 anna high")
	}
}
