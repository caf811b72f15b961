package format

import (
	"slices"
	"testing"

	"hgld/curate"
	"hgld/internal/testing/must"
	"hgld/labels"
)

func TestLintOfASessionNamesDroppedNamesakes(t *testing.T) {
	d := &labels.Draft{Version: labels.DraftVersion,
		Tags: []labels.DraftTag{{Tag: labels.Tag{Name: "mountain", QID: "Q8502"}, Landmarks: 3300},
			{Tag: labels.Tag{Name: "hill"}, Landmarks: 40}},
		Clusters: []labels.Cluster{{ID: 0, Name: "peak", Members: []labels.Member{{Tag: 0}, {Tag: 1}}}}}
	s := must.Get(curate.NewSession(d, nil))(t)
	for i, e := range []curate.Edit{{Op: curate.Move, From: []curate.Ref{{Name: "hill"}}, To: "Mountain"},
		{Op: curate.Drop, From: []curate.Ref{{Name: "mountain", QID: "Q8502"}}, Note: "too generic"}} {
		e.By, e.Base = "anna", i
		if _, err := s.Apply(e, nil); err != nil {
			t.Fatal(err)
		}
	}
	const want = `draft.json: warning: tag "mountain" (Q8502) of 3300 landmarks is dropped, and a group is called "Mountain"; ` +
		`move it into the group, or note why it is left out`
	found := LintSession("draft.json", s)
	if !slices.ContainsFunc(found, func(p Problem) bool { return p.String() == want }) {
		t.Errorf("%v, want %s", found, want)
	}
}
