package cluster

import (
	"errors"
	"maps"
	"math"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/usage"
	"hgld/labels"
)

// worldGroups are churches (church, chapel, cathedral), houses (house, villa), lakes (lake, pond), rivers, and things,
// which have no chain.
var worldGroups = []int32{0, 2, 0, 2, 3, 0, 1, 1, 4, 4}

func proposed(t *testing.T, parents []string, k int) map[int]ParentProposal {
	t.Helper()
	tags, items, _ := worldOf()
	list := must.Get(ProposeParents(tags, items, worldGroups, parents, k))(t)
	got := map[int]ParentProposal{}
	for _, p := range list {
		got[p.Group] = p
	}
	return got
}

func TestGroupsGetTheParentOfSimilarOnes(t *testing.T) {
	got := proposed(t, []string{"human-made", "", "natural", "", ""}, 9)
	if len(got) != 2 || got[1].Parent != "human-made" || got[3].Parent != "natural" {
		t.Fatalf("proposed %v", got)
	}
	// Of 34 landmarks with a chain, 18 are buildings and as many are below the house, which is in a circle with it;
	// 4 are houses proper. Of the houses' classes they share these two with the churches.
	content := func(n float64) float64 { return math.Log(34 / n) }
	church := []float64{content(14), content(18), content(18), content(4) * 4 / 14, content(4) * 4 / 14,
		content(2) * 2 / 14}
	house := []float64{content(18), content(18), content(2) * 2 / 4}
	length := func(x []float64) (s float64) {
		for _, v := range x {
			s += v * v
		}
		return math.Sqrt(s)
	}
	want := 2 * content(18) * content(18) / length(church) / length(house)
	if math.Abs(got[1].Score-want) > 1e-12 {
		t.Errorf("score %v, want %v", got[1].Score, want)
	}
}

// Each class is above one or two of the four groups with a chain, which adds ln 4 either way: those above two come
// first.
func TestChosenClassesBecomeParents(t *testing.T) {
	got := proposed(t, make([]string, 5), 2)
	want := map[int]ParentProposal{0: {0, "building", 1}, 1: {1, "building", 1}, 2: {2, "water", 1}, 3: {3, "water", 1}}
	if !maps.Equal(got, want) {
		t.Errorf("proposed %v, want %v", got, want)
	}
}

func TestTagsWithoutClassesHaveNoParents(t *testing.T) {
	tags, _, _ := worldOf()
	_, err := ProposeParents(tags, labels.NewItems(nil), worldGroups, make([]string, 5), 2)
	if !errors.As(err, new(*usage.Error)) {
		t.Errorf("error %v", err)
	}
}
