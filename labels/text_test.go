package labels

import (
	"strings"
	"testing"
)

// The limit applies to each kind of difference, and the rest is counted.
func TestLimitOfAComparisonCountsTheRest(t *testing.T) {
	c := &Comparison{Both: 5, Same: 2, OnlyA: []LandmarkKey{{Landmark: 7}, {Landmark: 8}},
		Levels: []LevelComparison{{Name: "same"}, {Name: "coarse", Differ: 3, Swaps: []SwapCount{
			{A: "x", B: "y", Landmarks: 2}, {A: "v", B: "w", Landmarks: 1}}}},
		Changes: []Change{{A: "p"}, {A: "q"}, {A: "r"}}}
	for limit, want := range map[int][]string{
		0: {"coarse: 3 differ\n", `"v" in A`, `"r" in A`, "/8\n"},
		1: {`"x" in A`, "  … and 1 more\n", "… and 2 more differences", "/7\n", "… and 1 more only in A\n"},
	} {
		text := c.Text("a.csv", "b.csv", limit)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("limit %d: no %q in\n%s", limit, w, text)
			}
		}
		if strings.Contains(text, "more") != (limit > 0) || strings.Contains(text, "same:") {
			t.Errorf("limit %d:\n%s", limit, text)
		}
	}
}
