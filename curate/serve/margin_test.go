package serve

import (
	"context"
	"math"
	"reflect"
	"slices"
	"testing"

	"hgld/curate"
)

// lineFake has tag i at i on a line, and the centroid of group g at 10 g + 4.5, wherever
// its tags are.
type lineFake struct{ of [30]int }

func (f *lineFake) Place(_ int, _ map[int]string, tags, in []int, _ []bool) {
	for i, tag := range tags {
		f.of[tag] = in[i]
	}
}

func (f *lineFake) far(tag, group int) float64 {
	return math.Abs(float64(tag) - 10*float64(group) - 4.5)
}

func (f *lineFake) Distance(tag int) float64 { return f.far(tag, f.of[tag]) }

func (f *lineFake) Nearest(tags []int, n int, skip func(int) bool) (groups []int, distances []float64) {
	for g := range 3 {
		if !skip(g) {
			groups, distances = append(groups, g), append(distances, f.far(tags[0], g))
		}
	}
	slices.Sort(distances)
	return groups[:min(n, len(groups))], distances[:min(n, len(distances))]
}

func (f *lineFake) Name(int, []float32) {}

func (f *lineFake) Proposals([]int, int) func(context.Context) ([][]int, []float64, error) {
	return func(context.Context) ([][]int, []float64, error) { return nil, nil, nil }
}

func (f *lineFake) Like([]int, int, func(int) bool) ([]int, []float64) { return nil, nil }

func (f *lineFake) Candidates(int, int, func(int) bool) ([]int, []float64) { return nil, nil }

// A margin is the distance to the nearest other group minus the distance to the tag's own group.
// Later edits do not change it.
func TestMarginIsTheLeadOverTheNextGroup(t *testing.T) {
	_, a, _ := newServer(t, testDraft(30), func(c *Config) { c.Suggester = &lineFake{} })
	a.post("/api/edit", move(0, "first", "cluster 2", 9), nil)
	drop := move(1, "second", "", 20)
	drop.Op = curate.Drop
	a.post("/api/edit", drop, nil)
	var got struct{ Margins []float32 }
	a.get("/api/margins", &got)
	// Group 0 is at 4.5, group 1 at 14.5, group 2 at 24.5.
	for tag, want := range map[int]float32{
		4:  10.5 - 0.5,
		8:  6.5 - 3.5,
		9:  4.5 - 15.5, // it is in group 2, and group 0 is nearer
		10: 5.5 - 4.5,
		25: 10.5 - 0.5,
		20: 0, // dropped
	} {
		if got.Margins[tag] != want {
			t.Errorf("the margin of tag %d is %v, want %v", tag, got.Margins[tag], want)
		}
	}
	a.post("/api/edit", move(2, "third", "cluster 1", 4), nil)
	var later struct{ Margins []float32 }
	a.get("/api/margins", &later)
	if len(got.Margins) != 30 || !reflect.DeepEqual(got, later) {
		t.Errorf("the margins have become %v after an edit, and were %v", later, got)
	}
}
