package curate

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// two curates the churches twice. A and B agree on church, mountain and aqueduct and differ on hill
// (dropped or peak) and volcano. Each decides one tag that the other does not.
func two(t *testing.T) (a, b *Session) {
	a, b = start(t, churches(t)), start(t, churches(t))
	do(t, a,
		Edit{Op: Accept, From: refs("church@Q1", "chapel@Q2"), To: "church"},
		Edit{Op: Accept, From: refs("mountain@Q3"), To: "peak"},
		Edit{Op: Drop, From: refs("hill"), Note: "generic"},
		Edit{Op: Move, From: refs("volcano"), To: "fire"},
		Edit{Op: Drop, From: refs("aqueduct@Q4")},
		Edit{Op: SetParent, Level: 1, From: refs("church", "peak"), To: "human-made"})
	do(t, b,
		Edit{Op: Accept, From: refs("church@Q1"), To: "church"},
		Edit{Op: Accept, From: refs("mountain@Q3", "hill", "volcano"), To: "peak"},
		Edit{Op: Drop, From: refs("aqueduct@Q4")},
		Edit{Op: Move, From: refs("bridge"), To: "crossing"},
		Edit{Op: SetParent, Level: 1, From: refs("crossing", "church"), To: "human-made"},
		Edit{Op: SetParent, Level: 1, From: refs("peak", "unused"), To: "natural"})
	return a, b
}

func TestCompareCountsEveryDeclaredGroup(t *testing.T) {
	a, b := two(t)
	c := must.Get(Compare(a, b))(t)
	var names []string
	for _, category := range c.Categories {
		names = append(names, category.String()+"/"+category.Parent)
	}
	if want := []string{"church/human-made", "crossing/human-made", "fire/", "peak/human-made", "unused/natural",
		"(dropped)/"}; !slices.Equal(names, want) {
		t.Errorf("categories %q, want %q", names, want)
	}
	want := [][]int{5: nil}
	for i := range want {
		want[i] = make([]int, 6)
	}
	want[0][0], want[3][3], want[5][3], want[2][3], want[5][5] = 1, 1, 1, 1, 1
	if !reflect.DeepEqual(c.Table, want) {
		t.Errorf("table %v, want %v", c.Table, want)
	}
	if c.OnlyA != 1 || c.OnlyB != 1 || c.Neither != 1 || c.Agreement.N != 5 || math.Abs(*c.Agreement.Raw-0.6) > 1e-12 {
		t.Errorf("only A %d, only B %d, neither %d, agreement %+v", c.OnlyA, c.OnlyB, c.Neither, c.Agreement)
	}
	differences := []Difference{
		{Tag: 4, Name: "hill", Landmarks: 96, Choices: []string{"(dropped)", "peak"}},
		{Tag: 5, Name: "volcano", Landmarks: 95, Choices: []string{"fire", "peak"}},
	}
	if !reflect.DeepEqual(c.Differences, differences) {
		t.Errorf("differences %+v", c.Differences)
	}
	parents := []ParentDifference{{Level: 1, Group: "peak", Choices: []string{"human-made", "natural"}}}
	if !reflect.DeepEqual(c.Parents, parents) {
		t.Errorf("differences of parents %+v", c.Parents)
	}
}

// A curated the same twice: of the seven tags that someone has decided, five were
// decided by all three and two by two or one of them.
func TestCompareManyCountsRatings(t *testing.T) {
	a, b := two(t)
	again, _ := two(t)
	c := must.Get(CompareMany([]*Session{a, b, again}))(t)
	if want := []int{6, 6, 6}; !slices.Equal(c.Decided, want) {
		t.Errorf("decided %v, want %v", c.Decided, want)
	}
	// church, chapel (A twice), mountain, hill, volcano, aqueduct count; bridge is B's
	// alone. Agreeing pairs: all of church, chapel, mountain and aqueduct, one in
	// three of hill and volcano.
	g := c.Agreement
	if g.Items != 6 || g.Ratings != 17 || g.Raters != 0 || g.FleissKappa != nil || math.Abs(*g.Raw-(4+2.0/3)/6) > 1e-12 {
		t.Errorf("agreement %+v, raw %v", g, *g.Raw)
	}
	if p := c.Pairs; len(p) != 3 || p[0].Tags != 5 || math.Abs(*p[0].Raw-0.6) > 1e-12 || p[1].B != 2 || *p[1].Kappa != 1 ||
		p[1].Tags != 6 {
		t.Errorf("pairs %+v", p)
	}
	want := []Difference{
		{Tag: 4, Name: "hill", Landmarks: 96, Choices: []string{"(dropped)", "peak", "(dropped)"}},
		{Tag: 5, Name: "volcano", Landmarks: 95, Choices: []string{"fire", "peak", "fire"}},
	}
	if !reflect.DeepEqual(c.Differences, want) {
		t.Errorf("disagreements %+v", c.Differences)
	}
	if _, err := CompareMany([]*Session{a, b, start(t, draftOf(t, "a: x"))}); err == nil ||
		!strings.Contains(err.Error(), "different drafts") {
		t.Errorf("error %v", err)
	}
}

// Three who decide between two groups: hill goes 2 : 1, volcano has an answer from each.
func TestAdjudicationOfThreeLeavesOpenWhatAnyTwoDecidedDifferently(t *testing.T) {
	a, b := two(t)
	third := start(t, churches(t))
	do(t, third, Edit{Op: Move, From: refs("hill"), To: "peak"}, Edit{Op: Move, From: refs("volcano"), To: "crater"},
		Edit{Op: SetParent, Level: 1, From: refs("church"), To: "natural"})
	s, c, err := Adjudicate(a, b, third)
	must.Do(t, err)
	want := []Difference{
		{Tag: 4, Name: "hill", Landmarks: 96, Choices: []string{"(dropped)", "peak", "peak"}},
		{Tag: 5, Name: "volcano", Landmarks: 95, Choices: []string{"fire", "peak", "crater"}},
	}
	tags, parents := c.Open(s)
	if !reflect.DeepEqual(tags, want) || s.Tag(4).Decided || s.Tag(5).Decided {
		t.Errorf("open %+v, want %+v", tags, want)
	}
	if want := []ParentDifference{
		{Level: 1, Group: "church", Choices: []string{"human-made", "human-made", "natural"}},
		{Level: 1, Group: "peak", Choices: []string{"human-made", "natural", ""}}}; !reflect.DeepEqual(parents, want) {
		t.Errorf("open parents %+v, want %+v", parents, want)
	}
	// peak has ratings of mountain (2 of 2), hill (2 of 3) and volcano (1 of 3): Σ n(n−1) is 2 + 2 + 0,
	// Σ n(r−1) is 2 + 4 + 2.
	peak := slices.IndexFunc(c.Categories, func(x Category) bool { return x.Name == "peak" })
	if got := c.ByCategory[peak]; got.All != 1 || !slices.Equal(got.Tags, []int{1, 3, 1}) || *got.Specific != 0.5 {
		t.Errorf("agreement on peak %+v", got)
	}
	text, err := json.Marshal([]any{want[0], Difference{Name: "x", Choices: []string{"a", ""}}})
	if got := `[{"tag":4,"name":"hill","landmarks":96,"choices":["(dropped)","peak","peak"]},` +
		`{"tag":0,"name":"x","landmarks":0,"a":"a","b":""}]`; err != nil || string(text) != got {
		t.Errorf("%s, %v", text, err)
	}
}

func TestCompareRejectsDifferentDrafts(t *testing.T) {
	a := start(t, churches(t))
	if _, err := Compare(a, start(t, draftOf(t, "a: x"))); err == nil ||
		!strings.Contains(err.Error(), "different drafts") {
		t.Errorf("error %v", err)
	}
}

func TestAdjudicationResolvesDifferences(t *testing.T) {
	a, b := two(t)
	s, c, err := Adjudicate(a, b)
	must.Do(t, err)
	if tags, parents := c.Open(s); len(tags) != 2 || len(parents) != 1 {
		t.Fatalf("open at first: %v and %v", tags, parents)
	}
	for i, want := range []string{"church true", "church true", "church false", "peak true", " false", "fire false",
		"crossing true", " true"} {
		tag := s.Tag(i)
		if got := tag.Group + map[bool]string{true: " true", false: " false"}[tag.Decided]; got != want {
			t.Errorf("%s: group and decided are %q, want %q", tag.Name, got, want)
		}
	}
	do(t, s, Edit{Op: Move, From: refs("hill", "volcano"), To: "peak"})
	if tags, parents := c.Open(s); len(tags) != 0 || len(parents) != 1 {
		t.Errorf("open after the tags: %v and %v", tags, parents)
	}
	do(t, s, Edit{Op: SetParent, Level: 1, From: refs("peak"), To: "natural"})
	if tags, parents := c.Open(s); len(tags)+len(parents) != 0 {
		t.Errorf("still open: %v and %v", tags, parents)
	}
	h, err := s.Hierarchy(false)
	if err != nil || !slices.Equal(classNames(h.Levels[1]), []string{"church", "crossing", "peak"}) {
		t.Errorf("adjudicated hierarchy %+v, %v", h, err)
	}
	if a.Tag(5).Group != "fire" || s.Version() != 2 {
		t.Error("the adjudication changed a curator's session")
	}
	again, _, err := Adjudicate(a, b)
	must.Do(t, err)
	if _, err := again.Load(s.Edits()); err != nil || !reflect.DeepEqual(snapshot(t, s), snapshot(t, again)) {
		t.Errorf("the third log replayed gives another session: %v", err)
	}
}

func TestForkHasItsOwnEdits(t *testing.T) {
	s := start(t, churches(t))
	do(t, s, Edit{Op: Move, From: refs("hill"), To: "church"})
	above := s.Fork()
	do(t, above, Edit{Op: Move, From: refs("hill"), To: "bridge"}, Edit{Op: Revert, Of: 1})
	if above.Tag(4).Group != "church" || above.Version() != 2 || s.Version() != 1 {
		t.Errorf("hill is %+v in version %d", above.Tag(4), above.Version())
	}
}
