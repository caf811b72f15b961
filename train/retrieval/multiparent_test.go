package retrieval

import (
	"math"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/device/cpu"
)

// The worked example of docs/label-semantics.md, several parents: a bridge that is also a river, and five items by
// falling score: a river, a bridge, a lake, another image of the query's landmark, and a church.
var (
	extraLevels  = []string{"landmark", "supercategory", "kind"}
	extraClasses = [][]string{{"Q", "A", "B", "C", "E"}, {"bridge", "river", "lake", "church"},
		{"human-made", "natural"}}
	extraQuery   = []labels.Path{{0, 0, 0}}
	extraGallery = []labels.Path{{1, 1, 1}, {2, 0, 0}, {3, 2, 1}, {0, 0, 0}, {4, 3, 0}, {-1, -1, -1}}
	extraList    = []labels.ExtraParent{{Level: "landmark", Class: "Q", Parent: "river", Where: "also.csv:2"},
		{Level: "landmark", Class: "of another split", Parent: "river", Where: "also.csv:3"}}
)

func TestTheBestOfSeveralPathsCounts(t *testing.T) {
	log2 := math.Log2
	classes := func(l int) []string { return extraClasses[l] }
	parents, err := NewMultiParent(extraLevels, classes, extraQuery, extraGallery, extraList)
	if err != nil || parents.Used != 1 || parents.Unseen != nil {
		t.Fatal(parents, err)
	}
	backends := map[string]device.Backend{"counted": cpu.New(2), "sorted": sortingDevice{cpu.New(2)}}
	for _, c := range []struct {
		name  string
		truth Truth
		want  map[string]float64
	}{
		// Levels 0 2 0 3 1: relevances 1, 2/3 and 1/3, which sum to 2.
		{"a tree", nil, map[string]float64{"AP_level0": 1. / 4, "AP_level1": (1./2 + 2./4) / 2,
			"AP_level2": (1./2 + 2./4 + 3./5) / 3, "H-AP": ((2./3)/2 + (1+2./3)/4 + (3*1./3)/5) / 2,
			"NDCG": (3/log2(3) + 7/log2(5) + 1/log2(6)) / (7 + 3/log2(3) + 1./2),
			"ASI":  (0 + 1./2 + 1./3) / 3}},
		// Levels 2 2 1 3 1: relevances 1, (2/3)/2 and (1/3)/2, which sum to 2.
		{"two paths", parents, map[string]float64{"AP_level0": 1. / 4, "AP_level1": (1 + 1 + 3./4) / 3, "AP_level2": 1,
			"H-AP": (1./3 + (2./3)/2 + (3./6)/3 + (1+2./3+1./6)/4 + (5./6)/5) / 2,
			"NDCG": (3 + 3/log2(3) + 1./2 + 7/log2(5) + 1/log2(6)) / (7 + 3/log2(3) + 3./2 + 1/log2(5) + 1/log2(6)),
			"ASI":  (0 + 1./2 + 2./3 + 1 + 1) / 5}},
	} {
		for name, b := range backends {
			e := &Evaluation{Query: sideOf(t, b, &Matrix{1, []float32{1}}, extraQuery),
				Gallery: sideOf(t, b, &Matrix{1, []float32{6, 5, 4, 3, 2, 1}}, extraGallery), Levels: extraLevels,
				Metrics: setOf(t, "AP", "H-AP", "NDCG", "ASI"), Truth: c.truth, Gap: 6}
			r, err := Evaluate(t.Context(), b, e)
			must.Do(t, err)
			for key, want := range c.want {
				if got := r.Mean(key); math.Abs(got-want) > 1e-12 || *r.value(key).Gap != 0 {
					t.Errorf("%s, %s: %s is %v, want %v; gap %v", c.name, name, key, got, want, *r.value(key).Gap)
				}
			}
		}
	}
}

// River is on no item's own path: its kind comes from the list. Two items meet there.
func TestAExtraParentThatNoItemHas(t *testing.T) {
	classes := func(l int) []string { return [][]string{{"Q", "A"}, {"bridge", "lake"}, {"human-made", "natural"}}[l] }
	rows := []labels.Path{{0, 0, 0}, {1, 1, 1}}
	list := []labels.ExtraParent{{Level: "landmark", Class: "Q", Parent: "river", Where: "also.csv:2"},
		{Level: "landmark", Class: "A", Parent: "river", Where: "also.csv:3"}}
	_, err := NewMultiParent(extraLevels, classes, rows, rows, list)
	if err == nil || !strings.Contains(err.Error(), `also.csv:2: no item has the supercategory "river", so its kind`) {
		t.Fatal(err)
	}
	list = append(list, labels.ExtraParent{Level: "supercategory", Class: "river", Parent: "natural",
		Where: "also.csv:4"})
	f, err := NewMultiParent(extraLevels, classes, rows, rows, list)
	must.Do(t, err)
	shared := make([]byte, 2)
	f.Shared(shared, 0)
	if shared[0] != 3 || shared[1] != 2 || strings.Join(f.Unseen, " ") != "river" {
		t.Errorf("shared %v, unseen %v", shared, f.Unseen)
	}
	list[0].Level = "kind"
	if _, err = NewMultiParent(extraLevels, classes, rows, rows, list); err == nil ||
		!strings.Contains(err.Error(), `also.csv:2: the level is "kind"; want one below the coarsest`) {
		t.Error(err)
	}
	uneven := []labels.Path{{0, -1, 0}}
	if _, err = NewMultiParent(extraLevels, classes, uneven, rows, nil); err == nil ||
		!strings.Contains(err.Error(), "need a class at every level") {
		t.Error(err)
	}
}
