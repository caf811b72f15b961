package cluster

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

func agglomerate(t testing.TB, x Matrix, linkage Linkage) *Tree {
	t.Helper()
	tree := must.Get(Agglomerate(context.Background(), x, linkage, nil))(t)
	return tree
}

// checkNear compares a figure with a golden one, relative to the larger of 1 and it.
func checkNear(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s = %v, want %v ± %v", what, got, want, tolerance)
	}
}

func checkNearAll(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) || len(want) == 0 {
		t.Fatalf("%d %s, want %d", len(got), what, len(want))
	}
	for i := range want {
		checkNear(t, what+" "+strconv.Itoa(i), got[i], want[i], tolerance)
	}
}

func checkCut(t *testing.T, tree *Tree, k int, want []int32) {
	t.Helper()
	got := must.Get(tree.Cut(k))(t)
	if !slices.Equal(got, want) {
		t.Errorf("cut at %d is %v, want %v", k, got, want)
	}
}

func TestGoldenWard(t *testing.T) {
	var file struct {
		Ward []struct {
			Name     string
			X        [][]float32
			Expected struct {
				Heights []float64 `json:"merge_heights"`
				Sizes   []int
				Cuts    map[string][]int32 `json:"labels_at_k_in_order_of_first_appearance"`
			}
		}
	}
	goldens.ReadJSON(t, filepath.Join(goldens.Dir(t, "cluster"), "cases.json"), &file)
	for _, c := range file.Ward {
		t.Run("cluster/ward."+c.Name, func(t *testing.T) {
			tree := agglomerate(t, pack(t, c.X), Ward)
			var heights []float64
			var sizes []int
			for _, m := range tree.Merges {
				heights, sizes = append(heights, m.Height), append(sizes, m.Size)
			}
			checkNearAll(t, "merge height", heights, c.Expected.Heights, smallTolerance)
			if !slices.Equal(sizes, c.Expected.Sizes) {
				t.Errorf("sizes %v, want %v", sizes, c.Expected.Sizes)
			}
			if len(c.Expected.Cuts) == 0 {
				t.Fatal("the case has no cut")
			}
			for text, want := range c.Expected.Cuts {
				k := must.Get(strconv.Atoi(text))(t)
				checkCut(t, tree, k, want)
			}
		})
	}
}

func TestGoldenWardOfText(t *testing.T) {
	for i, c := range textCases(t) {
		t.Run("cluster/text."+strconv.Itoa(i), func(t *testing.T) {
			tree := agglomerate(t, c.x, Ward)
			sum := 0.0
			var heights []float64
			for _, m := range tree.Merges {
				heights = append(heights, m.Height)
				sum += m.Height
			}
			checkNear(t, "sum of heights", sum, c.Ward.Sum, textTolerance)
			checkNearAll(t, "height", heights[len(heights)-len(c.Ward.Last):], c.Ward.Last, textTolerance)
			checkCut(t, tree, c.K, c.Ward.Labels)
		})
	}
}
