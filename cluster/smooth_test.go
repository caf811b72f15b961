package cluster

import (
	"context"
	"math"
	"slices"
	"testing"

	"hgld/internal/testing/must"
)

// The expected rows are computed by hand: the nearest row of (1,0) is (0.8,0.6), that of (0,1) is
// (0.6,0.8).
func TestSmoothIsTheUnitMeanOfARowAndItsNearest(t *testing.T) {
	x := Matrix{Rows: 4, Cols: 2, Data: []float32{2, 0, 0.8, 0.6, 0, 1, 0.6, 0.8}}
	y := must.Get(Smooth(x, 1, nil))(t)
	want := [][2]float64{{1.8, 0.6}, {1.4, 1.4}, {0.6, 1.8}, {1.4, 1.4}}
	for i, w := range want {
		length := math.Hypot(w[0], w[1])
		for j := range 2 {
			if got := float64(y.Row(i)[j]); math.Abs(got-w[j]/length) > 1e-6 { // float32 rows
				t.Errorf("row %d is %v, want %v / %v", i, y.Row(i), w, length)
			}
		}
	}
}

func TestSmoothKeepsARowWhoseNeighboursCancel(t *testing.T) {
	y := must.Get(Smooth(Matrix{Rows: 2, Cols: 1, Data: []float32{3, -3}}, 1, nil))(t)
	if !slices.Equal(y.Data, []float32{1, -1}) {
		t.Errorf("rows are %v, want 1 and −1", y.Data)
	}
}

func TestSmoothNeedsDirectionsAndOtherRows(t *testing.T) {
	for _, c := range []struct {
		data    []float32
		nearest int
	}{{[]float32{1, 1, 0}, 1}, {[]float32{1, 2, 3}, 3}, {[]float32{1, 2, 3}, 0}} {
		if _, err := Smooth(Matrix{Rows: 3, Cols: 1, Data: c.data}, c.nearest, nil); err == nil {
			t.Errorf("%d neighbours of %v are no error", c.nearest, c.data)
		}
	}
}

func TestNeighbourhoodIsAtMostHalfACluster(t *testing.T) {
	for _, c := range []struct{ most, n, k, want int }{{5, 3358, 150, 5}, {20, 3358, 150, 11}, {5, 6, 3, 1}, {5, 6, 4, 0},
		{0, 100, 2, 0}} {
		if got := Neighbourhood(c.most, c.n, c.k); got != c.want {
			t.Errorf("%d neighbours of %d rows in %d clusters become %d, want %d", c.most, c.n, c.k, got, c.want)
		}
	}
}

func TestPartitionHasTheMeansOfTheGivenRows(t *testing.T) {
	x := planted(60, 5, 4, 0.3, 2)
	y := must.Get(Smooth(x, 3, nil))(t)
	r := run(t, KMeans{K: 4}, y, 1)
	own := must.Get(r.Of(x, nil))(t)
	if !slices.Equal(own.Labels, r.Labels) || own.Inertia != r.Inertia {
		t.Error("the partition or its inertia changed")
	}
	for k := range 4 {
		sum := make([]float64, 5)
		for i, l := range r.Labels {
			if int(l) == k {
				for j, v := range x.Row(i) {
					sum[j] += float64(v) / float64(r.Sizes[k])
				}
			}
		}
		if gap := gap2(sum, own.Centroids[k*5:(k+1)*5]); gap > 1e-24 {
			t.Errorf("centroid %d is off by %v", k, math.Sqrt(gap))
		}
	}
}

func TestKMeansFromWardImprovesWardsCut(t *testing.T) {
	x := planted(300, 10, 12, 0.9, 5)
	tree := must.Get(Agglomerate(context.Background(), x, Ward, nil))(t)
	cut := must.Get(tree.Partition(x, 20))(t)
	r := run(t, KMeans{K: 20, NInit: 7, Init: WardMeans}, x, 1)
	if r.Inertia > cut.Inertia {
		t.Errorf("inertia %v is above %v of the cut it began at", r.Inertia, cut.Inertia)
	}
	if len(r.Restarts) != 1 {
		t.Errorf("%d starts were made of a start that is not drawn", len(r.Restarts))
	}
	again := run(t, KMeans{K: 20, Init: WardMeans, Tree: tree}, x, 2)
	if !slices.Equal(again.Labels, r.Labels) || again.Inertia != r.Inertia {
		t.Error("a tree made before, or another seed, changes the partition")
	}
}

func TestKMeansFromWardKeepsKnownGroups(t *testing.T) {
	x := planted(80, 6, 5, 0.5, 9)
	known := &Known{Names: []string{"a", "b"}, Of: make([]int32, x.Rows)}
	for i := range known.Of {
		known.Of[i] = int32(i%8) - 6 // rows 6 and 7 of eight
		if known.Of[i] < 0 {
			known.Of[i] = -1
		}
	}
	for _, k := range []int{2, 3, 9} {
		r := run(t, KMeans{K: k, Init: WardMeans, Known: known}, x, 1)
		for i, g := range known.Of {
			if g >= 0 && r.Labels[i] != g {
				t.Errorf("k = %d: row %d of group %d is in cluster %d", k, i, g, r.Labels[i])
			}
		}
	}
}
