package sample

import (
	"slices"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

// ofMixedDepth has two classes of four rows, four rows of a parent alone, four of another, two of a
// class without a parent, and one without any class.
func ofMixedDepth() (rows []labels.Path) {
	for _, p := range []struct {
		path labels.Path
		n    int
	}{{labels.Path{0, 0}, 4}, {labels.Path{1, 0}, 4}, {labels.Path{-1, 0}, 4}, {labels.Path{-1, 1}, 4},
		{labels.Path{2, -1}, 2}, {labels.Path{-1, -1}, 1}} {
		for range p.n {
			rows = append(rows, p.path)
		}
	}
	return rows
}

// At the class there are the groups of rows 0–3, 4–7, 16–17, and of the rest 8–11 and 12–15. At the parent
// there are 0–11 and 12–15, and of the rest 16–17.
func TestRestIsDrawnByTheNearestLevel(t *testing.T) {
	rows := ofMixedDepth()
	for level, want := range [][][]int{
		{{0, 1, 2, 3}, {4, 5, 6, 7}, {16, 17}, {8, 9, 10, 11}, {12, 13, 14, 15}},
		{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {12, 13, 14, 15}, {16, 17}},
	} {
		list, err := Rest{true}.groups(rows, level)
		if err != nil || len(list) != len(want) {
			t.Fatalf("level %d: %d groups, %v", level, len(list), err)
		}
		for i, c := range list {
			if !slices.Equal(c.rows, want[i]) {
				t.Errorf("level %d: group %d has rows %v, want %v", level, i, c.rows, want[i])
			}
		}
	}
}

func TestSamplersDrawTheRestIfAsked(t *testing.T) {
	rows := ofMixedDepth()
	for name, c := range map[string]struct {
		s    Sampler
		want int // rows that can be drawn
	}{
		"m-per-class":        {&MPerClass{Batch: 4, M: 2, Rest: Rest{true}}, 18},
		"random-m-per-class": {&RandomMPerClass{Batch: 4, M: 2, Batches: 200, Rest: Rest{true}}, 18},
		"balanced":           {&Balanced{Batch: 4, M: 2, Batches: 200, Rest: Rest{true}}, 18},
		"random":             {&Shuffled{Batch: 2, Rest: Rest{true}}, 18},
		"m-per-class, alone": {&MPerClass{Batch: 4, M: 2}, 10},
		"random, alone":      {&Shuffled{Batch: 2}, 10},
	} {
		drawn := map[int]bool{}
		for epoch := range 20 {
			batches, err := c.s.Epoch(rows, 1, epoch)
			must.Do(t, err)
			for _, row := range slices.Concat(batches...) {
				drawn[row] = true
			}
		}
		if len(drawn) != c.want || drawn[18] {
			t.Errorf("%s: %d rows are drawn, want %d; one without any class: %v", name, len(drawn), c.want, drawn[18])
		}
	}
}
