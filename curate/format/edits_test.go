package format

import (
	"os"
	"slices"
	"strings"
	"testing"

	"hgld/curate"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// draftOf is a draft of the tags of a document in clusters of three, one of them
// called as a group is.
func draftOf(d *Document) *labels.Draft {
	draft := &labels.Draft{Version: labels.DraftVersion}
	for i, c := range d.Hierarchy.Levels[0].Classes {
		draft.Tags = append(draft.Tags, labels.DraftTag{Tag: labels.Tag{Name: c.Name, QID: c.QID},
			Landmarks: d.count(0)[c.Name]})
		if i%3 == 0 {
			draft.Clusters = append(draft.Clusters, labels.Cluster{ID: i, Name: c.Name})
		}
		last := &draft.Clusters[len(draft.Clusters)-1]
		last.Members = append(last.Members, labels.Member{Tag: i})
	}
	return draft
}

func session(t *testing.T, draft *labels.Draft) *curate.Session {
	t.Helper()
	s := must.Get(curate.NewSession(draft, nil))(t)
	return s
}

// apply does edits one by one, as an import does.
func apply(t *testing.T, s *curate.Session, d *Document) (edits []curate.Edit, missing []curate.Ref) {
	t.Helper()
	edits, missing, err := Edits(s, d)
	must.Do(t, err)
	for _, e := range edits {
		e.By = "test"
		if _, err := s.Apply(e, nil); err != nil {
			t.Fatalf("edit %d of %d, %+v: %v", e.Seq, len(edits), e, err)
		}
	}
	return edits, missing
}

// A hierarchy that becomes edits comes out of them as it was, but for what a
// hierarchy lists by name.
func TestImportedEditsRebuildTheHierarchy(t *testing.T) {
	d := church()
	s := session(t, draftOf(d))
	if _, missing := apply(t, s, d); len(missing) > 0 {
		t.Errorf("missing %v", missing)
	}
	h := must.Get(s.Hierarchy(false))(t)
	if got, want := rowsOf(h), rowsOf(d.Hierarchy); !slices.Equal(got, want) {
		t.Errorf("tags\n%q\nwant\n%q", got, want)
	}
	groups := must.Get(s.Groups(1))(t)
	at := slices.IndexFunc(groups, func(g curate.Group) bool { return g.Name == "castle / fort" })
	if at < 0 || groups[at].Parent != "human-made" || !groups[at].Declared {
		t.Errorf("the group without members is not declared: %+v", groups)
	}
	at = slices.IndexFunc(groups, func(g curate.Group) bool { return g.Name == "ocean area " })
	if at < 0 || groups[at].Note != "its space is published" {
		t.Errorf("the note of a group is lost: %+v", groups)
	}
}

func TestSecondImportMakesNoEdits(t *testing.T) {
	d := church()
	s := session(t, draftOf(d))
	apply(t, s, d)
	if again, _ := apply(t, s, d); len(again) > 0 {
		t.Errorf("a second import makes %d edits: %+v", len(again), again)
	}
	// What was cut off midway goes on where it ended.
	s = session(t, draftOf(d))
	edits, _, err := Edits(s, d)
	must.Do(t, err)
	for _, e := range edits[:2] {
		if _, err := s.Apply(e, nil); err != nil {
			t.Fatal(err)
		}
	}
	if rest, _ := apply(t, s, d); len(rest) != len(edits)-2 || rest[0].Seq != 3 {
		t.Errorf("%d edits are left of %d, want all but two", len(rest), len(edits))
	}
}

func TestTagsAreFoundByTextOrItem(t *testing.T) {
	draft := &labels.Draft{Tags: []labels.DraftTag{
		{Tag: labels.Tag{Name: "park", QID: "Q1"}}, {Tag: labels.Tag{Name: "park", QID: "Q2"}},
		{Tag: labels.Tag{Name: "reservoir (water)", QID: "Q3"}}, {Tag: labels.Tag{Name: "chapel"}},
	}, Clusters: []labels.Cluster{{Name: "x", Members: []labels.Member{{Tag: 0}, {Tag: 1}, {Tag: 2}, {Tag: 3}}}}}
	d := &Document{Hierarchy: &labels.Hierarchy{Levels: []labels.Level{{Name: "tag", Classes: []labels.Class{
		{Name: "park", Parent: 0},                      // both items
		{Name: "reservoir", QID: "Q3", Parent: 0},      // by its item
		{Name: "chapel", QID: "Q4", Parent: 0},         // by its text
		{Name: "mine", Parent: 0},                      // not there
		{Name: "mill", QID: "Q9", Parent: -1},          // not there, and nothing is said of it
		{Name: "old", Dropped: "gone too", Parent: -1}, // not there
	}}, {Name: "group", Classes: []labels.Class{{Name: "g", Parent: -1}}}}}}
	s := session(t, draft)
	edits, missing := apply(t, s, d)
	if len(edits) != 1 || len(edits[0].From) != 4 || edits[0].Op != curate.Move {
		t.Errorf("edits %+v, want one that moves four tags", edits)
	}
	if want := []curate.Ref{{Name: "mine"}, {Name: "old"}}; !slices.Equal(missing, want) {
		t.Errorf("missing %v, want %v", missing, want)
	}
}

// A tag is matched by its text before a class with the same item can take it.
func TestMatchByTextPrecedesMatchByItem(t *testing.T) {
	draft := &labels.Draft{Tags: []labels.DraftTag{{Tag: labels.Tag{Name: "church", QID: "Q1"}}},
		Clusters: []labels.Cluster{{Name: "x", Members: []labels.Member{{Tag: 0}}}}}
	s := session(t, draft)
	_, missing := apply(t, s, groupsAndNotes([]labels.Class{{Name: "church building", QID: "Q1", Parent: 0},
		{Name: "church", Parent: 1}},
		labels.Class{Name: "old", Parent: -1}, labels.Class{Name: "new", Parent: -1}))
	if got := s.Tag(0).Group; got != "new" || len(missing) != 1 || missing[0].Name != "church building" {
		t.Errorf("church is in %q, missing %v", got, missing)
	}
}

// The published list of groups has no tags. It declares all 78 groups.
func TestPublishedGroupsAreDeclared(t *testing.T) {
	list, err := os.ReadFile(goldens.Shared(t, "data", "wikimedia", "gldv2", "hierarchical_labels_78_index_counts.csv"))
	must.Do(t, err)
	d := read(t, list, "78.csv")
	s := session(t, draftOf(church()))
	edits, _ := apply(t, s, d)
	if len(edits) != 2 {
		t.Errorf("%d edits, want one for each kind", len(edits))
	}
	groups := must.Get(s.Groups(1))(t)
	declared := map[string]int{}
	for _, g := range groups {
		if g.Declared {
			declared[g.Parent]++
		}
	}
	if declared["human-made"] != 60 || declared["natural"] != 18 {
		t.Errorf("declared by kind: %v, want 60 human-made and 18 natural", declared)
	}
	names := strings.Join(strings.Fields(`stairs parks tree`), ",")
	if again, _ := apply(t, s, read(t, []byte(strings.ReplaceAll(names, ",", "\n")), "names.txt")); len(again) != 0 {
		t.Errorf("names that are there already make edits: %+v", again)
	}
}

func TestGroupsWithoutKindAreDeclared(t *testing.T) {
	s := session(t, draftOf(church()))
	edits, _ := apply(t, s, read(t, []byte("zoo\nmosque\n"), "names.txt"))
	if len(edits) != 1 || edits[0].Op != curate.SetParent || edits[0].To != "" || len(edits[0].From) != 2 {
		t.Errorf("edits %+v, want one that declares two groups", edits)
	}
}

func TestMoreLevelsThanTheLogAreAnError(t *testing.T) {
	s := must.Get(curate.NewSession(draftOf(church()), []string{"tag", "group"}))(t)
	if _, _, err := Edits(s, church()); err == nil || !strings.Contains(err.Error(), "new log") {
		t.Errorf("error %v", err)
	}
}

// groupsAndNotes is a document of groups, some with tags and notes.
func groupsAndNotes(tags []labels.Class, groups ...labels.Class) *Document {
	return &Document{Hierarchy: &labels.Hierarchy{Levels: []labels.Level{{Name: "tag", Classes: tags},
		{Name: "supercategory", Classes: groups}}}}
}

// A group without members that is called like a cluster stays when the import
// moves the cluster's tags elsewhere.
func TestEmptiedGroupIsDeclared(t *testing.T) {
	draft := &labels.Draft{Tags: []labels.DraftTag{{Tag: labels.Tag{Name: "a"}}, {Tag: labels.Tag{Name: "b"}}},
		Clusters: []labels.Cluster{{Name: "zoo", Members: []labels.Member{{Tag: 0}, {Tag: 1}}}}}
	d := groupsAndNotes([]labels.Class{{Name: "a", Parent: 0}, {Name: "b", Parent: 0}},
		labels.Class{Name: "park", Parent: -1}, labels.Class{Name: "zoo", Parent: -1, Note: "to be filled"})
	s := session(t, draft)
	apply(t, s, d)
	groups := must.Get(s.Groups(1))(t)
	at := slices.IndexFunc(groups, func(g curate.Group) bool { return g.Name == "zoo" })
	if at < 0 || !groups[at].Declared || groups[at].Note != "to be filled" || len(groups[at].Members) > 0 {
		t.Errorf("groups %+v, want an empty zoo with its note", groups)
	}
	if again, _ := apply(t, s, d); len(again) > 0 {
		t.Errorf("a second import makes %+v", again)
	}
}

// In a log whose coarsest level are the groups of tags, one without tags cannot be
// declared, and its note is no reason to stop midway.
func TestNoteOfAMissingGroupIsSkipped(t *testing.T) {
	draft := &labels.Draft{Tags: []labels.DraftTag{{Tag: labels.Tag{Name: "a"}}, {Tag: labels.Tag{Name: "b"}},
		{Tag: labels.Tag{Name: "c"}}},
		Clusters: []labels.Cluster{{Name: "zoo", Members: []labels.Member{{Tag: 0}, {Tag: 1}}},
			{ID: 1, Name: "tree", Members: []labels.Member{{Tag: 2}}}}}
	d := groupsAndNotes([]labels.Class{{Name: "a", Parent: 0}, {Name: "b", Parent: -1, Dropped: "no"}},
		labels.Class{Name: "park", Parent: -1, Note: "1"},
		labels.Class{Name: "zoo", Parent: -1, Note: "2"}, labels.Class{Name: "castle", Parent: -1, Note: "3"},
		labels.Class{Name: "tree", Parent: -1, Note: "4"})
	s := must.Get(curate.NewSession(draft, []string{"tag", "supercategory"}))(t)
	apply(t, s, d)
	groups := must.Get(s.Groups(1))(t)
	notes := map[string]string{}
	for _, g := range groups {
		notes[g.Name] = g.Note
	}
	if len(notes) != 2 || notes["park"] != "1" || notes["tree"] != "4" {
		t.Errorf("notes %v, want those of park and tree", notes)
	}
}

// A proposal is exported with the hierarchy, imported as a proposal, and named as lost by
// formats that know nothing of it.
func TestProposalsSurviveExportAndImport(t *testing.T) {
	d := church()
	draft := draftOf(d)
	s := session(t, draft)
	open := s.Tag(2).Ref
	parts := []curate.Part{{To: "church", Members: []curate.Ref{open}}}
	if _, err := s.Apply(curate.Edit{Op: curate.Propose, Parts: parts}, nil); err != nil {
		t.Fatal(err)
	}
	h := must.Get(s.Hierarchy(false))(t)
	var text strings.Builder
	if lost, err := (&Document{Hierarchy: h}).Write(&text, "hierarchy"); err != nil || len(lost) > 0 {
		t.Fatalf("lost %v, %v", lost, err)
	}
	back := must.Get(Read([]byte(text.String()), "hierarchy.json", "", labels.ReadOptions{}))(t)
	again := session(t, draft)
	apply(t, again, back)
	if tag := again.Tag(2); !tag.Proposed || tag.Decided || tag.Group != "church" || len(again.Proposed()) != 1 {
		t.Errorf("imported: %+v", tag)
	}
	if edits, _ := apply(t, again, back); len(edits) > 0 {
		t.Errorf("imported twice: %+v", edits)
	}
	for _, to := range []string{"skos", "draft"} {
		lost, err := back.Write(&text, to)
		if err != nil || !slices.Contains(lost, "1 proposal") {
			t.Errorf("%s: lost %v, %v; want 1 proposal among them", to, lost, err)
		}
	}
}

// A rule that hierarchy.json has decides the new tags of another draft, and not those of which the file tells a group.
func TestRulesSurviveExportAndImport(t *testing.T) {
	from := &Document{Hierarchy: &labels.Hierarchy{Version: 1, Levels: []labels.Level{
		{Name: "tag", Classes: []labels.Class{{Name: "chapel", Parent: 0}, {Name: "post chapel", Parent: 1}}},
		{Name: "supercategory", Classes: []labels.Class{{Name: "church", Parent: -1}, {Name: "post", Parent: -1}}}},
		Rules: []labels.Rule{{Expression: "chapels?$", Group: "church"}, {Expression: "machine$", Dropped: "no place"}}}}
	var b strings.Builder
	if lost, err := from.Write(&b, "hierarchy"); err != nil || len(lost) > 0 {
		t.Fatal(lost, err)
	}
	d := must.Get(Read([]byte(b.String()), "hierarchy.json", "", labels.ReadOptions{}))(t)
	if lost, _ := d.Write(&strings.Builder{}, "sheet"); !slices.Contains(lost, "2 rules") {
		t.Errorf("a sheet loses %q, want 2 rules among them", lost)
	}
	draft := &labels.Draft{Version: labels.DraftVersion, Clusters: []labels.Cluster{{Name: "all"}}}
	for i, name := range []string{"chapel", "post chapel", "field chapel", "lake"} {
		draft.Tags = append(draft.Tags, labels.DraftTag{Tag: labels.Tag{Name: name}})
		draft.Clusters[0].Members = append(draft.Clusters[0].Members, labels.Member{Tag: i})
	}
	s := session(t, draft)
	apply(t, s, d)
	for i, want := range []string{"church", "post", "church", ""} {
		tag := s.Tag(i)
		if got := tag.Group; tag.Decided != (want != "") || tag.Decided && got != want {
			t.Errorf("%s is in %q, decided %v; want %q", tag.Name, got, tag.Decided, want)
		}
	}
	got := s.Rules(nil)
	if len(got) != 2 || !got[0].Same(from.Hierarchy.Rules[0]) || !got[1].Same(from.Hierarchy.Rules[1]) {
		t.Errorf("the rules are %+v, want %+v", got, from.Hierarchy.Rules)
	}
	if edits, _ := apply(t, s, d); len(edits) > 0 {
		t.Errorf("a second import makes %+v", edits)
	}
}
