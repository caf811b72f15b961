package labels

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestPathSharedCountsFromTheCoarsestLevel(t *testing.T) {
	for _, c := range []struct {
		p, q Path
		want int
	}{
		{Path{0, 0, 0}, Path{0, 0, 0}, 3},
		{Path{0, 0, 0}, Path{1, 0, 0}, 2},
		{Path{0, 0, 0}, Path{1, 1, 0}, 1},
		{Path{0, 0, 0}, Path{1, 1, 1}, 0},
		{Path{0, 0, 0}, Path{0, 0, 1}, 0}, // equal columns below a difference do not count
		{Path{0, -1, -1}, Path{0, -1, -1}, 0},
		{Path{}, Path{}, 0},
	} {
		if got := c.p.Shared(c.q); got != c.want {
			t.Errorf("%v and %v share %d levels, want %d", c.p, c.q, got, c.want)
		}
	}
}

func TestBuilderNamesBothParentsAndTheirRows(t *testing.T) {
	b := NewBuilder("landmark", "supercategory", "kind")
	if _, err := b.Add(Row{Names: []string{"1", "lake", "natural"}, Where: "l.csv:2"}); err != nil {
		t.Fatal(err)
	}
	_, err := b.Add(Row{Names: []string{"2", "lake", "human-made"}, Where: "l.csv:3"})
	var two *ParentsError
	if !errors.As(err, &two) {
		t.Fatalf("error %v, want *ParentsError", err)
	}
	if two.Class != "lake" || two.Parents != [2]string{"natural", "human-made"} ||
		two.Where != [2]string{"l.csv:2", "l.csv:3"} {
		t.Errorf("%+v", two)
	}
	if _, err := b.Add(Row{Names: []string{"1", "", ""}, Where: "l.csv:4"}); !errors.As(err, &two) || !strings.Contains(err.Error(), `has two parents: "lake" (l.csv:2) and none (l.csv:4)`) {
		t.Errorf("error %v", err)
	}
	if _, err := b.Add(Row{Names: []string{"1", "lake"}, Where: "l.csv:5"}); err == nil ||
		err.Error() != "l.csv:5: 2 class names, want 3 (landmark, supercategory, kind)" {
		t.Errorf("error %v", err)
	}
}

func TestHierarchyFindsPathsByName(t *testing.T) {
	h := hierarchyOf(t)
	lookup := h.Lookup()
	for class, want := range map[string]Path{
		"church building": {0, 0, 0}, "lake": {1, 1, 1}, "organization": nil, "ocean": nil, "moon": nil,
	} {
		for way, find := range map[string]func(string) (Path, bool){"Hierarchy": h.Path, "Lookup": lookup.Path} {
			if got, ok := find(class); !slices.Equal(got, want) || ok != (want != nil) {
				t.Errorf("%s.Path(%q) = %v, %v; want %v", way, class, got, ok, want)
			}
		}
	}
	if got := h.Names(h.PathOf(2)); !slices.Equal(got, []string{"organization", "", ""}) {
		t.Errorf("a dropped tag has names %q", got)
	}
	if got := h.Unassigned(); !slices.Equal(got, []int32{2, 3}) {
		t.Errorf("unassigned %v, want [2 3]", got)
	}
	if l, ok := h.Level("kind"); l != 2 || !ok {
		t.Errorf("Level(kind) = %d, %v", l, ok)
	}
	if _, ok := h.Level("colour"); ok {
		t.Error("there is a level colour")
	}
}

func TestRulesOfAHierarchyAreChecked(t *testing.T) {
	rules := func(text string) error {
		_, err := ReadHierarchy(strings.NewReader(`{"hgld_hierarchy":1,"levels":[{"name":"tag","classes":[]}],"rules":[`+text+`]}`),
			"h.json")
		return err
	}
	if err := rules(`{"expression":"mills?$","group":"mill","since":2}`); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		`{"expression":"(","group":"mill"}`:                      "rule /(/ is not a regular expression",
		`{"expression":"","group":"mill"}`:                       "it is empty",
		`{"expression":"mill"}`:                                  "want one of the two",
		`{"expression":"mill","group":"mill","dropped":"noise"}`: "want one of the two",
		`{"group":"mill"}`:                                       "expression",
	} {
		if err := rules(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}
