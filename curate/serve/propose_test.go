package serve

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"hgld/curate"
	"hgld/internal/testing/must"
)

// nameFake encodes a name as its length, once it is let go.
type nameFake struct {
	let   chan struct{}
	mu    sync.Mutex
	asked []string
}

func (f *nameFake) Names(ctx context.Context, names []string) ([][]float32, error) {
	select {
	case <-f.let:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, names...)
	var vectors [][]float32
	for _, n := range names {
		vectors = append(vectors, []float32{float32(len(n))})
	}
	return vectors, nil
}

// length is the length of the name that the suggester has for a group, 0 for none.
func length(s *Server, f *nearFake, group int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.named[group] == nil {
		return 0
	}
	return int(f.named[group][0])
}

func TestDeclaredGroupsGetTheVectorsOfTheirNames(t *testing.T) {
	near, names := &nearFake{}, &nameFake{let: make(chan struct{})}
	s, a, _ := newServer(t, testDraft(30), func(c *Config) { c.Suggester, c.Namer = near, names })
	declare := order{ID: "declare-1", Op: curate.SetParent, Level: 1, From: []curate.Ref{{Name: "water"}}}
	if code := a.post("/api/edit", declare, nil); code != http.StatusOK {
		t.Fatal(code) // no edit waits for an encoder
	}
	if length(s, near, 3) != 0 {
		t.Error("the name is known before it is encoded")
	}
	close(names.let)
	must.Become(t, "the declared group has its name", func() bool { return length(s, near, 3) == len("water") })
	rename := order{ID: "rename-1", Base: 1, Op: curate.Rename, Level: 1, From: declare.From, To: "waters"}
	a.post("/api/edit", rename, nil)
	must.Become(t, "the renamed group has its name", func() bool { return length(s, near, 3) == len("waters") })
	a.post("/api/edit", order{ID: "revert-1", Base: 2, Op: curate.Revert, Of: 2}, nil)
	if length(s, near, 3) != len("water") {
		t.Error("after the undo the group does not have its old name at once")
	}
	if near.named[0] != nil {
		t.Error("a cluster that nobody named goes by a name")
	}
	names.mu.Lock()
	defer names.mu.Unlock()
	if !slices.Equal(names.asked, []string{"water", "waters"}) {
		t.Errorf("encoded %q, want each name once", names.asked)
	}
}

// proposeAll makes an edit of the proposals that lead by least or more.
func proposeAll(t *testing.T, a *client, base int, least float64) order {
	t.Helper()
	var got struct {
		Version   int
		Proposals []Proposal
	}
	code := a.post("/api/proposals", map[string]any{"least": least}, &got)
	if code != http.StatusOK || got.Version != base {
		t.Fatalf("%d, version %d", code, got.Version)
	}
	o := order{ID: fmt.Sprintf("propose-%d", base), Base: base, Op: curate.Propose,
		Parts: []curate.Part{{To: "cluster 0"}, {To: "cluster 1"}}}
	for i, p := range got.Proposals {
		if i > 0 && p.Lead > got.Proposals[i-1].Lead {
			t.Error("the clearest does not come first")
		}
		members := &o.Parts[p.Group].Members
		*members = append(*members, curate.Ref{Name: fmt.Sprintf("tag %d", p.Tag)})
	}
	return o
}

func TestProposalsAreOfferedCheckedAndWithdrawn(t *testing.T) {
	near := &nearFake{}
	s, a, _ := newServer(t, testDraft(30), func(c *Config) { c.Suggester = near })
	a.post("/api/edit", move(0, "decided", "cluster 2", 29), nil)
	o := proposeAll(t, a, 1, 0.5)
	if n := len(o.Parts[0].Members) + len(o.Parts[1].Members); n != 14 {
		t.Fatalf("%d proposals, want tags 15 to 28", n)
	}
	if code := a.post("/api/edit", o, nil); code != http.StatusOK {
		t.Fatal(code)
	}
	var all fullState
	a.get("/api/state", &all)
	if all.Tags.Status[28]&statusProposed == 0 || all.Tags.Status[28]&statusDecided != 0 ||
		all.Tags.Status[29]&statusProposed != 0 || all.Tags.Parent[28] != 0 {
		t.Errorf("status %d and %d, parent %d", all.Tags.Status[28], all.Tags.Status[29], all.Tags.Parent[28])
	}
	var list []past
	a.get("/api/history", &list)
	if p := list[1]; p.N != 14 || p.First != "tag 28" || p.To != "cluster 0, cluster 1" {
		t.Errorf("in the history: %+v", p)
	}
	if again := proposeAll(t, a, 2, 0.5); len(again.Parts[0].Members) > 0 {
		t.Error("what is proposed is proposed again")
	}
	var check struct {
		Version int
		curate.ProposalCheck
	}
	a.post("/api/check", map[string]any{"of": 2, "n": 4, "seed": 1}, &check)
	if len(check.Tags) != 4 || check.Left != 14 || check.Version != 2 {
		t.Fatalf("%+v", check)
	}
	a.post("/api/edit", move(2, "wrong", "cluster 2", check.Tags[0]), nil)
	a.post("/api/check", map[string]any{"of": 2, "n": 4, "seed": 1}, &check)
	if check.Wrong != 1 || check.Expected == nil || *check.Expected != 13 {
		t.Errorf("%+v", check)
	}
	code := a.post("/api/check", map[string]any{"of": 1, "n": 4, "seed": 1}, nil)
	if code != http.StatusUnprocessableEntity {
		t.Errorf("a check of a move: %d", code)
	}
	back := order{ID: "withdraw", Base: 3, Op: curate.Withdraw, From: s.session.Proposed()}
	if code := a.post("/api/edit", back, nil); code != http.StatusOK || len(s.session.Proposed()) != 0 {
		t.Errorf("%d, still proposed %v", code, s.session.Proposed())
	}
}

// The last proposal is found without its number, with what is left of it and how clearly;
// a tag that was called wrong is not proposed again, and one taken back silently is.
func TestCheckListsTheRemainingTags(t *testing.T) {
	s, a, _ := newServer(t, testDraft(30), func(c *Config) { c.Suggester = &nearFake{} })
	ref := func(i int) []curate.Ref { return []curate.Ref{{Name: fmt.Sprintf("tag %d", i)}} }
	parts := []curate.Part{{To: "cluster 0", Members: append(ref(12), append(ref(13), ref(14)...)...)}}
	for i, o := range []order{{Op: curate.Propose, Parts: parts}, {Op: curate.Withdraw, From: ref(12), Note: "wrong"}} {
		o.ID, o.Base = fmt.Sprintf("edit-no-%d", i), i
		if code := a.post("/api/edit", o, nil); code != http.StatusOK {
			t.Fatal(code)
		}
	}
	var got struct {
		curate.ProposalCheck
		Rest  []int
		Leads []float64
	}
	a.post("/api/check", map[string]any{"n": 3, "seed": 1, "whole": true}, &got)
	// The nearest group of an odd tag is 1.
	if got.Of != 1 || got.Wrong != 1 || !slices.Equal(got.Rest, []int{13, 14}) ||
		!slices.Equal(got.Leads, []float64{-13.0 / 30, 14.0 / 30}) {
		t.Errorf("%+v", got)
	}
	a.post("/api/edit", order{ID: "withdraw-all", Base: 2, Op: curate.Withdraw, From: append(ref(13), ref(14)...)}, nil)
	var offered struct{ Proposals []Proposal }
	a.post("/api/proposals", map[string]any{"least": 0}, &offered)
	has := map[int]bool{}
	for _, p := range offered.Proposals {
		has[p.Tag] = true
	}
	if has[12] || !has[13] || len(has) != 29 {
		t.Errorf("%d tags are proposed again, 12: %v, 13: %v; want all but 12", len(has), has[12], has[13])
	}
	if n := len(s.session.Proposed()); n != 0 {
		t.Errorf("%d tags are still proposed", n)
	}
}
