package curate

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

// decided is a session of churches, peaks and bridges under two kinds. Nobody has named an extra parent.
func decided(t *testing.T) *Session {
	t.Helper()
	s := start(t, churches(t))
	do(t, s, Edit{Op: Accept, From: refs("church@Q1", "chapel@Q2", "cathedral"), To: "church"},
		Edit{Op: Accept, From: refs("mountain@Q3", "hill", "volcano"), To: "peak"},
		Edit{Op: Accept, From: refs("bridge", "aqueduct@Q4"), To: "bridge"},
		Edit{Op: SetParent, Level: 1, From: refs("church", "bridge"), To: "human-made"},
		Edit{Op: SetParent, Level: 1, From: refs("peak"), To: "natural"})
	return s
}

// extra lists the extra parents of a session as "level class parent".
func extraParents(t *testing.T, s *Session) (rows []string) {
	t.Helper()
	h := must.Get(s.Hierarchy(false))(t)
	list := must.Get(s.ExtraParents(h))(t)
	for _, f := range list {
		rows = append(rows, f.Level+" "+f.Class+" "+f.Parent)
	}
	return rows
}

func wantExtra(t *testing.T, what string, s *Session, want ...string) {
	t.Helper()
	if got := extraParents(t, s); !slices.Equal(got, want) {
		t.Errorf("%s: extra parents %q, want %q", what, got, want)
	}
}

// hierarchyText is hierarchy.json of a session.
func hierarchyText(t *testing.T, s *Session) string {
	t.Helper()
	h := must.Get(s.Hierarchy(false))(t)
	var b bytes.Buffer
	must.Do(t, labels.WriteHierarchy(&b, h))
	return b.String()
}

func TestExtraParentsLeaveTheTreeAsItIs(t *testing.T) {
	s := decided(t)
	wantExtra(t, "at the start", s)
	before, undecided := hierarchyText(t, s), len(s.Undecided())
	do(t, s, Edit{Op: ExtraParent, From: refs("bridge"), To: "river"})
	h := must.Get(s.Hierarchy(false))(t)
	var orphans *OrphansError
	if _, err := s.ExtraParents(h); !errors.As(err, &orphans) || !slices.Equal(orphans.Groups, []string{"river"}) {
		t.Errorf("an extra parent without a kind gives %v, want an OrphansError of river", err)
	}
	do(t, s, Edit{Op: SetParent, Level: 1, From: refs("river"), To: "natural"},
		Edit{Op: ExtraParent, Level: 1, From: refs("church"), To: "natural"},
		Edit{Op: ExtraParent, From: refs("hill"), To: "peak"}) // its own group
	wantExtra(t, "with three", s, "tag bridge river", "supercategory river natural", "supercategory church natural")
	if after := hierarchyText(t, s); after != before || len(s.Undecided()) != undecided {
		t.Errorf("the hierarchy is\n%swant\n%s", after, before)
	}
	if n := s.Node(0, 6); n.Name != "bridge" || !slices.Equal(n.ExtraParents, []string{"river"}) {
		t.Errorf("bridge is %+v", n)
	}
	do(t, s, Edit{Op: ExtraParent, From: refs("bridge"), To: "church"}, Edit{Op: ExtraParent, From: refs("bridge")})
	wantExtra(t, "taken away", s, "supercategory church natural")
	do(t, s, Edit{Op: Revert, Of: 11})
	wantExtra(t, "undone", s, "tag bridge river", "tag bridge church", "supercategory church human-made",
		"supercategory river natural", "supercategory church natural")
}

func TestExtraParentsFollowTheirGroup(t *testing.T) {
	s := decided(t)
	do(t, s, Edit{Op: ExtraParent, From: refs("bridge", "aqueduct@Q4"), To: "river"},
		Edit{Op: SetParent, Level: 1, From: refs("river"), To: "natural"},
		Edit{Op: Rename, Level: 1, From: refs("river"), To: "stream"})
	wantExtra(t, "renamed", s, "tag bridge stream", "tag aqueduct stream", "supercategory stream natural")
	do(t, s, Edit{Op: Merge, Level: 1, From: refs("stream"), To: "peak"})
	wantExtra(t, "merged", s, "tag bridge peak", "tag aqueduct peak", "supercategory peak natural")
	do(t, s, Edit{Op: Revert, Of: 9})
	wantExtra(t, "the merge undone", s, "tag bridge stream", "tag aqueduct stream", "supercategory stream natural")
	do(t, s, Edit{Op: ExtraParent, From: refs("church@Q1"), To: "peak"}, Edit{Op: Split, Level: 1, From: refs("peak"),
		Parts: []Part{{To: "mount", Members: refs("mountain@Q3")}, {To: "low", Members: refs("hill", "volcano")}}})
	if p := s.Problems(); !slices.ContainsFunc(p, func(p Problem) bool { return p.Name == "church" && p.Level == 0 }) {
		t.Errorf("the extra parent of church is divided, and the problems are %+v", p)
	}
	wantExtra(t, "divided", s, "tag bridge stream", "tag aqueduct stream", "supercategory stream natural")
}

// One curator names an extra parent and the other does not; a third draft has the tag with an item.
func TestExtraParentsOfSeveralLogs(t *testing.T) {
	a, b := decided(t), decided(t)
	do(t, a, Edit{Op: ExtraParent, From: refs("bridge"), To: "river"}, Edit{Op: SetParent, Level: 1, From: refs("river"),
		To: "natural"})
	do(t, b, Edit{Op: ExtraParent, From: refs("bridge"), To: "church"})
	s, _, err := Adjudicate(a, b)
	must.Do(t, err)
	both := []string{"tag bridge river", "tag bridge church", "supercategory church human-made",
		"supercategory river natural"}
	wantExtra(t, "adjudicated", s, both...)
	do(t, s, Edit{Op: ExtraParent, From: refs("bridge")})
	wantExtra(t, "taken away by the adjudicator", s)
	later := start(t, draftOf(t, "all: church@Q1 chapel@Q2 cathedral mountain@Q3 hill volcano bridge@Q9 aqueduct@Q4"))
	if r, err := later.Replay(a.Edits(), Skip); err != nil || len(r.Conflicts) > 0 {
		t.Fatalf("the replay gives %+v, %v", r, err)
	}
	wantExtra(t, "on another draft", later, "tag bridge river", "supercategory river natural")
	for _, wrong := range []Edit{{Op: ExtraParent, Level: 2, From: refs("natural"), To: "x"}, {Op: ExtraParent, To: "x"}} {
		wrong.Base = s.Version()
		if _, err := s.Apply(wrong, nil); err == nil {
			t.Errorf("%+v is possible", wrong)
		}
	}
}

// An extra parent counts if it exists and is not the parent in the tree. Agreement on the tree is the same with it.
func TestExtraParentsAreCompared(t *testing.T) {
	a, b := decided(t), decided(t)
	without := must.Get(Compare(a, b))(t)
	none, err := CompareExtraParents(a, b)
	if err != nil || none.Text() != "" || none.Classes != 0 {
		t.Errorf("without extra parents: %+v (%v)", none, err)
	}
	do(t, a, Edit{Op: ExtraParent, From: refs("bridge", "aqueduct@Q4"), To: "peak"},
		Edit{Op: ExtraParent, From: refs("aqueduct@Q4"), To: "church"}, Edit{Op: ExtraParent, From: refs("hill"), To: "peak"},
		Edit{Op: ExtraParent, Level: 1, From: refs("church"), To: "natural"},
		Edit{Op: ExtraParent, From: refs("volcano"), To: "church"})
	do(t, b, Edit{Op: ExtraParent, From: refs("aqueduct@Q4"), To: "church"},
		Edit{Op: ExtraParent, From: refs("bridge", "aqueduct@Q4"), To: "peak"},
		Edit{Op: ExtraParent, From: refs("chapel@Q2"), To: "bridge"})
	c, err := CompareExtraParents(a, b)
	want := ExtraParentComparison{Classes: 5, Differences: []ExtraParentDifference{
		{Class: "volcano", Choices: [][]string{{"church"}, {}}},
		{Class: "chapel", QID: "Q2", Choices: [][]string{{}, {"bridge"}}},
		{Level: 1, Class: "church", Choices: [][]string{{"natural"}, {}}}}}
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("the comparison is %+v (%v), want %+v", c, err, want)
	}
	if text := "\nextra parents, which no measure counts: 5 classes, 3 not by all curators alike\n"; c.Text() != text {
		t.Errorf("it reads %q, want %q", c.Text(), text)
	}
	with, err := Compare(a, b)
	if err != nil || !reflect.DeepEqual(with.Agreement, without.Agreement) {
		t.Errorf("extra parents change the agreement to %+v (%v)", with.Agreement, err)
	}
}
