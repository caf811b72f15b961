package cluster

import (
	"slices"
	"testing"

	"hgld/labels"
)

// A new tag with the name of a group of the earlier curation, but for case and white space, joins the
// group, and no open cluster has such a name.
func TestNamesakesJoinTheirGroup(t *testing.T) {
	h := &labels.Hierarchy{Version: labels.HierarchyVersion, Levels: []labels.Level{
		{Name: "tag", Classes: []labels.Class{{Name: "graveyard", Parent: 0}, {Name: "keep", Parent: 1},
			{Name: "Tower", Parent: -1}}},
		{Name: "supercategory", Classes: []labels.Class{{Name: "cemetery", Parent: -1}, {Name: "tower", Parent: -1}}}}}
	var tags []labels.DraftTag
	for _, name := range []string{"graveyard", "keep", "Cemetery", "Tower", "lake"} {
		tags = append(tags, labels.DraftTag{Tag: labels.Tag{Name: name}, Landmarks: 1})
	}
	known := KnownFrom(tags, h)
	if want := []int32{0, 1, 0, 1, -1}; !slices.Equal(known.Of, want) {
		t.Errorf("the tags are in %v, want %v", known.Of, want)
	}
	taken := map[string]bool{"tower": true}
	if name := clusterName(tags, []int{3, 4}, taken, map[string]bool{"tower": true}); name != "lake" {
		t.Errorf("the cluster is named %q beside the group tower", name)
	}
}
