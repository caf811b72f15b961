package curate_test

import (
	"slices"
	"strings"
	"testing"

	"hgld/curate"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// ruledDraft has the tags in one cluster.
func ruledDraft(tags ...string) *labels.Draft {
	d := &labels.Draft{Version: labels.DraftVersion, Clusters: []labels.Cluster{{Name: "all"}}}
	for i, name := range tags {
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: name}, Landmarks: 1})
		d.Clusters[0].Members = append(d.Clusters[0].Members, labels.Member{Tag: i})
	}
	return d
}

// A rule decides new tags of a later draft, but none that somebody has decided before, and its revert takes all back.
func TestARuleDecidesTagsOfALaterDraft(t *testing.T) {
	first := must.Get(curate.NewSession(ruledDraft("ice vending machine", "old vending machine", "lake"), nil))(t)
	apply := func(e curate.Edit) {
		t.Helper()
		e.Base, e.By = first.Version(), "anna"
		must.Get(first.Apply(e, func(curate.Edit) error { return nil }))(t)
	}
	apply(curate.Edit{Op: curate.Move, From: []curate.Ref{{Name: "old vending machine"}}, To: "museum"})
	apply(curate.Edit{Op: curate.Drop, From: []curate.Ref{{Name: "ice vending machine"}}, Rule: " VENDING machines?$"})
	edits := first.Edits()
	if against := first.Against(&edits[1]); len(against) != 1 || against[0].Name != "old vending machine" {
		t.Errorf("against the rule are %v, want the one of the museum", against)
	}
	if text := edits[1].Text(); !strings.Contains(text, "/ VENDING machines?$/") {
		t.Errorf("the rule is told as %q", text)
	}
	dropped := func(edits []curate.Edit) (names []string) {
		t.Helper()
		draft := ruledDraft("ice vending machine", "lake", "milk vending machine", "old vending machine")
		later := must.Get(curate.NewSession(draft, nil))(t)
		must.Get(later.Replay(edits, curate.Stop))(t)
		for i := range later.Size(0) {
			if n := later.Node(0, i); n.Dropped {
				names = append(names, n.Name)
			}
		}
		return names
	}
	if got := dropped(edits); !slices.Equal(got, []string{"ice vending machine", "milk vending machine"}) {
		t.Errorf("the later draft drops %q", got)
	}
	apply(curate.Edit{Op: curate.Revert, Of: 2})
	if got := dropped(first.Edits()); len(got) > 0 {
		t.Errorf("after the revert the later draft drops %q", got)
	}
	for _, e := range []curate.Edit{{Op: curate.Drop, From: []curate.Ref{{Name: "lake"}}, Rule: "("},
		{Op: curate.Accept, From: []curate.Ref{{Name: "lake"}}, To: "all", Rule: "lake"}} {
		if err := e.Check(3); err == nil {
			t.Errorf("%s by the rule %q is taken", e.Op, e.Rule)
		}
	}
}

// hierarchy.json gets the rules in force, under the present names of their groups. Of compared logs it gets those that
// all have.
func TestRulesStandInTheHierarchy(t *testing.T) {
	s := must.Get(curate.NewSession(ruledDraft("chapel", "lake", "pond"), nil))(t)
	for _, e := range []curate.Edit{
		{Op: curate.Move, From: []curate.Ref{{Name: "chapel"}}, To: "church", Rule: "chapels?$"},
		{Op: curate.Drop, From: []curate.Ref{{Name: "pond"}}, Rule: "ponds?$"}, {Op: curate.Revert, Of: 2},
		{Op: curate.Rename, Level: 1, From: []curate.Ref{{Name: "church"}}, To: "churches"},
		{Op: curate.Drop, Rule: "machine$", Note: "no place"}} {
		e.Base, e.By = s.Version(), "anna"
		must.Get(s.Apply(e, nil))(t)
	}
	want := []labels.Rule{{Expression: "peaks?$", Group: "mountain"}, {Expression: "chapels?$", Group: "churches"},
		{Expression: "machine$", Dropped: "no place"}}
	before := []labels.Rule{{Expression: "peaks?$", Group: "mountain"}, {Expression: "chapels?$", Group: "church"}}
	must.Get(s.Apply(curate.Edit{Op: curate.SetParent, Level: 1, From: []curate.Ref{{Name: "mountain"}}, By: "anna",
		Base: s.Version()}, nil))(t)
	if got := s.Rules(before); !slices.EqualFunc(got, want, labels.Rule.Same) {
		t.Errorf("the rules are %+v, want %+v", got, want)
	}
}
