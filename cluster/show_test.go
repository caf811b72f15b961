package cluster

import (
	"errors"
	"testing"

	"hgld/internal/registry"
	"hgld/labels"
)

// shown returns a draft of two clusters. The name of the second is the id of the first.
func shown() *labels.Draft {
	return &labels.Draft{Origin: labels.Origin{Groups: "names.txt"},
		Tags: []labels.DraftTag{{Tag: labels.Tag{Name: "church"}, Landmarks: 3, Images: 9},
			{Tag: labels.Tag{Name: "chapel"}, Landmarks: 1}, {Tag: labels.Tag{Name: "peak"}, Landmarks: 2}},
		Clusters: []labels.Cluster{
			{ID: 12, Name: "church", Known: true, Alternatives: []int{1}, Nearest: []int{7}, Members: []labels.Member{{Tag: 0,
				Distance: 0.25}, {Tag: 1, Distance: 1.5, Outlier: true}}},
			{ID: 7, Name: "12", Members: []labels.Member{{Tag: 2}}}}}
}

func TestClusterIsFoundByNameBeforeID(t *testing.T) {
	for which, want := range map[string]int{"church": 0, "12": 1, "7": 1} {
		if at, err := Find(shown(), which); err != nil || at != want {
			t.Errorf("%s is cluster %d (%v), want %d", which, at, err, want)
		}
	}
	_, err := Find(shown(), "churhc")
	if unknown := (*registry.UnknownError)(nil); !errors.As(err, &unknown) || unknown.Nearest != "church" {
		t.Errorf("the error is %v, want one that names church", err)
	}
}

func TestClustersAreListedWithTheirCounts(t *testing.T) {
	want := "   id   tags  landmarks     images  name\n" +
		"   12      2          4          9  church\n" +
		"    7      1          2             12\n"
	if got := TableText(shown()); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	want = "church (id 12): 2 tags, 4 landmarks, 9 images; a group of names.txt\n" +
		"or named: chapel\n" +
		"nearest: 12\n" +
		"\ndistance  landmarks  tag\n" +
		"  0.2500          3  church\n" +
		"  1.5000          1  chapel  (outlier)\n"
	if got := MembersText(shown(), 0); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
