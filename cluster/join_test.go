package cluster

import (
	"math"
	"slices"
	"testing"

	"hgld/internal/testing/must"
)

// The expected rows are computed by hand: the mean of the two churches has the direction (0.8, 0.6), and the lake's is
// its own.
func TestRowsAreJoinedWithTheMeanOfTheirHeadWord(t *testing.T) {
	x := Matrix{Rows: 4, Cols: 2, Data: []float32{1, 0, 0.28, 0.96, 0, 2, 0, 0}}
	y := JoinHeads(x, []string{"stave churches in Norway", "parish Church", "lake", "lakes"})
	want := []float64{1, 0, 0.56, 0.42, 0.28, 0.96, 0.56, 0.42, 0, 2, 0, 1.4, 0, 0, 0, 0}
	for k, v := range y.Data {
		if y.Rows != 4 || y.Cols != 4 || math.Abs(float64(v)-want[k]) > 1e-6 { // float32 rows
			t.Fatalf("rows are %v, want %v", y.Data, want)
		}
	}
}

// A plan clusters the joined rows and its draft has the vectors themselves.
func TestPlanJoinsBeforeItClusters(t *testing.T) {
	p := planOf(t, 6)
	for i, name := range []string{"red mill", "blue bay", "old mill", "sand bay", "wind mill", "deep mill"} {
		p.Tags[i].Name = name
		copy(p.x.Row(i), []float32{float32(i % 2), float32(1 - i%2)})
	}
	copy(p.x.Row(5), []float32{0.72, 0.69}) // a mill that is nearer to the bays
	clusters := func(join string) []int32 {
		o := p.options
		o.Join = join
		must.Do(t, p.SetOptions(o))
		r := must.Get(p.Run(t.Context(), 2, 1, nil))(t)
		if len(r.Centroids) != 2*p.x.Cols*map[string]int{"head": 2, "none": 1}[join] {
			t.Errorf("%s: centroids have %d values", join, len(r.Centroids))
		}
		return r.Labels
	}
	if got := clusters("none"); got[5] != got[1] {
		t.Errorf("without a join the clusters are %v, want the last mill among the bays", got)
	}
	if got := clusters("head"); got[5] != got[0] || got[5] == got[1] {
		t.Errorf("with the head word the clusters are %v, want all mills in one", got)
	}
	if got := clusters("none"); !slices.Equal(got, clusters("none")) || got[5] != got[1] {
		t.Error("the plan keeps the joined rows for clusters without a join")
	}
}
