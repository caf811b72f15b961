package curate

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// proposal puts the given tags into groups: "church: hill@Q bridge".
func proposal(groups ...string) Edit {
	e := Edit{Op: Propose}
	for _, g := range groups {
		to, tags, _ := strings.Cut(g, ": ")
		e.Parts = append(e.Parts, Part{To: to, Members: refs(strings.Fields(tags)...)})
	}
	return e
}

func TestProposedTagMovesUndecided(t *testing.T) {
	s := start(t, churches(t))
	do(t, s, proposal("worship: church@Q1 chapel@Q2", "water: bridge"))
	at, _ := s.Find(refs("chapel@Q2")[0])
	if tag := s.Tag(at); tag.Group != "worship" || tag.Decided || !tag.Proposed {
		t.Errorf("chapel is %+v", tag)
	}
	if n := len(s.Undecided()); n != 8 {
		t.Errorf("%d undecided, want all 8", n)
	}
	h := must.Get(s.Hierarchy(false))(t)
	if c := h.Levels[0].Classes[at]; c.Parent != -1 || c.Proposed != "worship" {
		t.Errorf("in the hierarchy chapel is %+v", c)
	}
}

func TestDecisionEndsAProposal(t *testing.T) {
	s := start(t, churches(t))
	do(t, s, proposal("worship: church@Q1 chapel@Q2 cathedral hill"),
		Edit{Op: Accept, From: refs("church@Q1"), To: "worship"}, Edit{Op: Move, From: refs("hill"), To: "peak"},
		Edit{Op: Drop, From: refs("cathedral"), Note: "vague"},
		Edit{Op: Confirm, Parts: proposal("worship: chapel@Q2").Parts})
	if left := s.Proposed(); len(left) != 0 {
		t.Errorf("still proposed: %v", left)
	}
	if g := group(t, s, 1, "worship"); len(g.Members) != 2 || g.Decided != 2 {
		t.Errorf("worship is %+v", g)
	}
	if err := try(s, proposal("peak: chapel@Q2")); err == nil || !strings.Contains(err.Error(), "is already decided") {
		t.Errorf("a decided tag was proposed: %v", err)
	}
}

func try(s *Session, e Edit) error {
	e.Base = s.Version()
	_, err := s.Apply(e, nil)
	return err
}

func TestWithdrawRestoresTheGroup(t *testing.T) {
	s := start(t, churches(t))
	do(t, s, Edit{Op: SetParent, Level: 1, From: refs("worship", "water")}) // named beforehand
	before := snapshot(t, s)
	do(t, s, proposal("worship: church@Q1 chapel@Q2 cathedral", "water: bridge aqueduct@Q4"))
	if group(t, s, 1, "church") != nil {
		t.Error("the emptied cluster is still there")
	}
	do(t, s, proposal("water: church@Q1"), // changes its mind
		Edit{Op: Withdraw, From: refs("church@Q1", "chapel@Q2", "cathedral", "hill")})
	if left := s.Proposed(); !slices.Equal(left, refs("bridge", "aqueduct@Q4")) {
		t.Errorf("withdrawing one group leaves %v", left)
	}
	do(t, s, Edit{Op: Withdraw, From: s.Proposed()})
	if after := snapshot(t, s); !reflect.DeepEqual(before, after) {
		t.Errorf("not as before\n%v\n%v", before, after)
	}
}

func TestUndoOfAProposalKeepsLaterDecisions(t *testing.T) {
	s := start(t, churches(t))
	do(t, s, proposal("worship: church@Q1 chapel@Q2 cathedral"),
		Edit{Op: Confirm, Parts: proposal("worship: church@Q1").Parts}, Edit{Op: Withdraw, From: refs("cathedral")},
		Edit{Op: Revert, Of: 1})
	if g := group(t, s, 1, "church"); len(g.Members) != 2 {
		t.Errorf("church is %+v", g)
	}
	if g := group(t, s, 1, "worship"); len(g.Members) != 1 || g.Decided != 1 {
		t.Errorf("worship is %+v", g)
	}
	do(t, s, Edit{Op: Revert, Of: 4})
	if left := s.Proposed(); !slices.Equal(left, refs("chapel@Q2")) {
		t.Errorf("redone, proposed are %v", left)
	}
}

func TestProposalOnAnotherDraftKeepsDecisions(t *testing.T) {
	log := start(t, churches(t))
	do(t, log, proposal("worship: church@Q1 chapel@Q2 cathedral"))
	other := must.Get(NewSession(draftOf(t, "a: church@Q1 chapel@Q2", "b: minster"), nil))(t)
	do(t, other, Edit{Op: Move, From: refs("church@Q1"), To: "kirk"})
	other = other.Fork()
	report, err := other.Replay(log.Edits(), Skip)
	if err != nil || report.Partly != 1 || report.Proposed != 1 || len(report.Conflicts[0].Missing) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if tag := other.Tag(0); tag.Group != "kirk" || !tag.Decided || tag.Proposed {
		t.Errorf("the decided tag is %+v", tag)
	}
}

func TestCheckProposalEstimatesErrors(t *testing.T) {
	var tags []string
	for i := range 100 {
		tags = append(tags, "t"+strings.Repeat("x", i))
	}
	s := start(t, draftOf(t, "all: "+strings.Join(tags, " ")))
	do(t, s, proposal("church: "+strings.Join(tags, " ")))
	c, err := s.CheckProposal(1, 20, 3)
	if err != nil || len(c.Tags) != 20 || c.Left != 100 || c.Expected != nil || c.Low != 0 || c.High != 100 {
		t.Fatalf("unchecked: %+v, %v", c, err)
	}
	more, _ := s.CheckProposal(1, 30, 3)
	if !slices.Equal(more.Tags[:20], c.Tags) {
		t.Error("a larger sample does not begin with the smaller one")
	}
	if others, _ := s.CheckProposal(1, 20, 4); slices.Equal(others.Tags, c.Tags) {
		t.Error("another seed draws the same tags")
	}
	for k, i := range c.Tags {
		to := "church"
		if k < 2 {
			to = "peak"
		}
		do(t, s, Edit{Op: Move, From: []Ref{s.Tag(i).Ref}, To: to})
	}
	do(t, s, Edit{Op: Rename, Level: 1, From: refs("church"), To: "worship"})
	do(t, s, Edit{Op: Move, From: []Ref{s.Tag(more.Tags[25]).Ref}, To: "peak"}) // was not drawn for c
	c, _ = s.CheckProposal(1, 20, 3)
	if c.Right != 18 || c.Wrong != 2 || c.Left != 79 {
		t.Fatalf("%+v", c)
	}
	// Wilson's interval of 2 in 20 is 2.787 % to 30.103 %.
	if got := []float64{*c.Expected / 79, c.Low / 79, c.High / 79}; math.Abs(got[0]-0.1) > 1e-9 ||
		math.Abs(got[1]-0.02787) > 1e-5 || math.Abs(got[2]-0.30103) > 1e-5 {
		t.Errorf("shares %.5f, want 0.1 in [0.02787, 0.30103]", got)
	}
	// Confirming the rest is not a look at it.
	do(t, s, Edit{Op: Confirm, Parts: []Part{{To: "worship", Members: s.Proposed()}}})
	if c, _ = s.CheckProposal(1, 100, 3); c.Right != 18 || c.Wrong != 3 || c.Left != 0 {
		t.Errorf("after confirming: %+v", c)
	}
	if _, err := s.CheckProposal(2, 5, 1); err == nil {
		t.Error("a move is not a proposal")
	}
}

// A tag that is withdrawn with a note counts as wrong and as refused. One that is withdrawn without a
// note does not count.
func TestWithdrawnTagCountsAsWrong(t *testing.T) {
	s := start(t, draftOf(t, "all: a b c d"))
	do(t, s, proposal("church: a b c"), Edit{Op: Withdraw, From: refs("a"), Note: "wrong"},
		Edit{Op: Withdraw, From: refs("b")}, Edit{Op: Confirm, Parts: proposal("church: c").Parts, Note: "right"},
		proposal("peak: d"))
	c, err := s.CheckProposal(1, 3, 1)
	if err != nil || c.Wrong != 1 || c.Right != 1 || c.Left != 0 {
		t.Errorf("%+v, %v; want 1 wrong, 1 right", c, err)
	}
	if got := s.Refused(); len(got) != 1 || !got[0] {
		t.Errorf("refused are %v, want tag 0", got)
	}
	if c, _ := s.CheckProposal(0, 3, 1); c.Of != 5 || !slices.Equal(s.OpenProposals(5), []int{3}) {
		t.Errorf("the last proposal is %d with %v left, want 5 with [3]", c.Of, s.OpenProposals(5))
	}
	do(t, s, Edit{Op: Revert, Of: 2}, Edit{Op: Revert, Of: 5})
	if c, _ := s.CheckProposal(0, 3, 1); c.Of != 1 || len(s.Refused()) != 0 {
		t.Errorf("after two undos the last proposal is %d, refused %v; want 1, none", c.Of, s.Refused())
	}
	do(t, s, Edit{Op: Withdraw, From: refs("a")})
	if c, _ := s.CheckProposal(0, 3, 1); c.Of != 0 || c.Left != 0 {
		t.Errorf("with nothing left: %+v", c)
	}
}
