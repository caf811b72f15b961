package curate

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

func classNames(l labels.Level) []string {
	var names []string
	for _, c := range l.Classes {
		names = append(names, c.Name)
	}
	return names
}

func TestHierarchyHasTheDecidedTags(t *testing.T) {
	s := start(t, churches(t))
	do(t, s,
		Edit{Op: SetParent, Level: 1, From: refs("ocean area ", "empty"), To: "natural"},
		Edit{Op: SetParent, Level: 1, From: refs("church"), To: "human-made"},
		Edit{Op: Accept, From: refs("church@Q1", "chapel@Q2"), To: "church"},
		Edit{Op: Move, From: refs("volcano"), To: "ocean area "},
		Edit{Op: Drop, From: refs("hill"), Note: "too generic"},
		Edit{Op: Note, Level: 1, From: refs("church"), Note: "with chapels"})
	h := must.Get(s.Hierarchy(false))(t)
	want := [][]string{
		{"church", "chapel", "cathedral", "mountain", "hill", "volcano", "bridge", "aqueduct"},
		{"church", "ocean area "},
		{"human-made", "natural"},
	}
	for l, level := range h.Levels {
		if level.Name != DefaultLevels[l] || !slices.Equal(classNames(level), want[l]) {
			t.Errorf("level %s holds %q, want %q", level.Name, classNames(level), want[l])
		}
	}
	var parents []int32
	for _, c := range h.Levels[0].Classes {
		parents = append(parents, c.Parent)
	}
	if !slices.Equal(parents, []int32{0, 0, -1, -1, -1, 1, -1, -1}) || h.Levels[1].Classes[1].Parent != 1 ||
		h.Levels[1].Classes[0].Note != "with chapels" {
		t.Errorf("parents %v, groups %+v", parents, h.Levels[1].Classes)
	}
	if c := h.Levels[0].Classes; c[0].QID != "Q1" || c[4].Dropped != "too generic" || c[2].Dropped != "" {
		t.Errorf("tags %+v", c)
	}
	var file bytes.Buffer
	must.Do(t, labels.WriteHierarchy(&file, h))
	again, err := labels.ReadHierarchy(&file, "hierarchy.json")
	if err != nil || !reflect.DeepEqual(h.Levels, again.Levels) {
		t.Errorf("read back %+v, %v", again, err)
	}
}

func TestHierarchyMergesTagsWithEqualText(t *testing.T) {
	s := start(t, draftOf(t, "a: fort@Q1 fort@Q2 fort wall"))
	do(t, s, Edit{Op: Move, From: refs("fort@Q2", "wall"), To: "castle"})
	h, err := s.Hierarchy(false)
	if err != nil || !slices.Equal(classNames(h.Levels[0]), []string{"fort", "wall"}) ||
		h.Levels[0].Classes[0].QID != "" || h.Levels[0].Classes[0].Parent != 0 {
		t.Fatalf("hierarchy %+v, %v; want fort, decided for one of its items, in castle", h, err)
	}
	do(t, s, Edit{Op: Drop, From: refs("fort@Q1")})
	if _, err := s.Hierarchy(false); err == nil || !strings.Contains(err.Error(), `one in "(dropped)" and one in "castle"`) {
		t.Errorf("error %v, want that fort is dropped and in castle", err)
	}
}

func TestUndecidedHierarchyKeepsTheClusters(t *testing.T) {
	h, err := start(t, churches(t)).Hierarchy(true)
	if err != nil || len(h.Levels) != 2 || !slices.Equal(classNames(h.Levels[1]), []string{"bridge", "church", "peak"}) {
		t.Errorf("hierarchy %+v, %v; want tags in three clusters", h, err)
	}
	h, err = start(t, churches(t)).Hierarchy(false)
	if err != nil || len(h.Levels) != 1 {
		t.Errorf("hierarchy of what is decided: %+v, %v; want tags alone", h, err)
	}
}

func TestHierarchyListsOrphans(t *testing.T) {
	s := start(t, churches(t))
	do(t, s,
		Edit{Op: SetParent, Level: 1, From: refs("peak"), To: "natural"},
		Edit{Op: Accept, From: refs("mountain@Q3"), To: "peak"},
		Edit{Op: Accept, From: refs("church@Q1"), To: "church"})
	var orphans *OrphansError
	if _, err := s.Hierarchy(false); !errors.As(err, &orphans) || !slices.Equal(orphans.Groups, []string{"church"}) {
		t.Errorf("error %v, want that church has no kind", err)
	}
}

func TestHierarchyHasTheLevelsOfTheLog(t *testing.T) {
	s := must.Get(NewSession(churches(t), []string{"tag", "type", "family", "kind"}))(t)
	do(t, s,
		Edit{Op: Accept, From: refs("mountain@Q3"), To: "peak"},
		Edit{Op: SetParent, Level: 1, From: refs("peak"), To: "relief"},
		Edit{Op: SetParent, Level: 2, From: refs("relief"), To: "natural"})
	h, err := s.Hierarchy(false)
	if err != nil || len(h.Levels) != 4 || h.Levels[2].Classes[0].Name != "relief" || h.Levels[3].Classes[0].Parent != -1 {
		t.Errorf("hierarchy %+v, %v", h, err)
	}
	if _, err := NewSession(churches(t), []string{"tag"}); err == nil {
		t.Error("a session without groups was made")
	}
}

func TestProblemsFindTheDefectsOfTheSpreadsheet(t *testing.T) {
	d := draftOf(t, "a: x y")
	for i, name := range []string{"neighborhood  park", "Church", "church", "1\u202f222,00", "village\u00a0hall", "hill"} {
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: name}})
		d.Clusters[0].Members = append(d.Clusters[0].Members, labels.Member{Tag: 2 + i})
	}
	s := start(t, d)
	do(t, s,
		Edit{Op: Move, From: refs("hill"), To: "ocean area "},
		Edit{Op: Flag, From: refs("hill"), Note: "where?"})
	var got []string
	for _, p := range s.Problems() {
		got = append(got, p.Name+": "+strings.Fields(p.What)[0]+" "+strings.Fields(p.What)[1])
	}
	want := []string{
		"neighborhood  park: has two", "church: differs from", "1\u202f222,00: has white", "1\u202f222,00: has no",
		"village\u00a0hall: has white", "hill: flagged: where?", "ocean area : begins or",
	}
	if !slices.Equal(got, want) {
		t.Errorf("problems %q,\nwant     %q", got, want)
	}
}
