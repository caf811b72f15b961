package cluster

import (
	"context"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

func TestElkanFindsLloydsPartition(t *testing.T) {
	for seed := range uint64(8) {
		x := planted(600, 24, 15, 0.8, seed)
		for _, spherical := range []bool{false, true} {
			lloyd := run(t, KMeans{K: 25, Spherical: spherical}, x, seed)
			elkan := run(t, KMeans{K: 25, Spherical: spherical, Algorithm: Elkan}, x, seed)
			if !slices.Equal(lloyd.Labels, elkan.Labels) || lloyd.Iterations != elkan.Iterations {
				t.Errorf("seed %d, spherical %v: inertia %v after %d and %v after %d iterations",
					seed, spherical, lloyd.Inertia, lloyd.Iterations, elkan.Inertia, elkan.Iterations)
			}
		}
	}
}

func TestWeightsEqualRepeatedRows(t *testing.T) {
	x := planted(60, 5, 4, 0.8, 3)
	weights := make([]float64, x.Rows)
	repeated := Matrix{Cols: x.Cols}
	for i := range weights {
		weights[i] = float64(1 + i%3)
		for range 1 + i%3 {
			repeated.Data = append(repeated.Data, x.Row(i)...)
			repeated.Rows++
		}
	}
	start := rowsOf(x, 0, 6)
	for _, a := range []Algorithm{Lloyd, Elkan} {
		weighted := run(t, KMeans{K: 6, Start: start, Weights: weights, Algorithm: a}, x, 0)
		long := run(t, KMeans{K: 6, Start: start, Algorithm: a}, repeated, 0)
		if math.Abs(weighted.Inertia-long.Inertia) > 1e-9*long.Inertia || weighted.Iterations != long.Iterations {
			t.Errorf("inertia %v after %d iterations, of repeated rows %v after %d", weighted.Inertia, weighted.Iterations,
				long.Inertia, long.Iterations)
		}
	}
}

func TestKnownRowsStayAndOthersJoinOrOpenClusters(t *testing.T) {
	// Group 0 spans 0 and 10, and group 1 is at 100. 1 and 99 join them, and 500 is far from both.
	x := pack(t, [][]float32{{0}, {10}, {100}, {1}, {99}, {500}, {501}})
	known := &Known{Names: []string{"low", "high"}, Of: []int32{0, 0, 1, -1, -1, -1, -1}}
	for _, a := range []Algorithm{Lloyd, Elkan, MiniBatch} {
		r := run(t, KMeans{K: 3, Known: known, Algorithm: a, NInit: 3}, x, 1)
		if want := []int32{0, 0, 1, 0, 1, 2, 2}; !slices.Equal(r.Labels, want) {
			t.Errorf("algorithm %d: labels %v, want %v", a, r.Labels, want)
		}
	}
	// A row of a group stays there even if another centroid is nearer.
	far := &Known{Names: []string{"low", "high"}, Of: []int32{0, 1, 1, -1, -1, -1, -1}}
	far.Of[5] = 0
	if r := run(t, KMeans{K: 2, Known: far}, x, 1); r.Labels[5] != 0 || r.Labels[1] != 1 {
		t.Errorf("labels %v: a known row left its group", r.Labels)
	}
	for _, c := range []struct {
		o    KMeans
		want string
	}{
		{KMeans{K: 1, Known: known}, "2 known groups need at least as many clusters, but k is 1"},
		{KMeans{K: 3, Known: &Known{Names: []string{"a", "b"}, Of: make([]int32, 7)}}, `"b" has no row`},
		{KMeans{K: 2, Weights: []float64{1, 1, 1, 0, 1, 1, 1}}, "row 3 has the weight 0"},
	} {
		if _, err := c.o.Run(context.Background(), x, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

func TestEveryMethodIsTheSameOnAnyNumberOfCores(t *testing.T) {
	x := planted(500, 20, 10, 1, 2)
	for _, m := range Methods {
		for _, init := range Inits {
			if m.Name == byTaxonomy || init.Value == TaxonomyMeans && m.Name != "ward" && m.Name != "average" {
				continue // TestTaxonomyIsTheSameOnAnyNumberOfCores
			}
			var results [2]*Result
			for i, cores := range []int{1, 5} {
				before := runtime.GOMAXPROCS(cores)
				r, err := m.Value(context.Background(), KMeans{K: 12, NInit: 9, Init: init.Value, Batch: 128}, x, 7)
				runtime.GOMAXPROCS(before)
				must.Do(t, err)
				results[i] = r
			}
			if !reflect.DeepEqual(results[0], results[1]) {
				t.Errorf("%s from %s: results on one and on five cores differ", m.Name, init.Name)
			}
		}
	}
}

func TestMiniBatchApproachesLloyd(t *testing.T) {
	x := planted(3000, 12, 10, 0.4, 1)
	batch, full := run(t, KMeans{K: 10, NInit: 3, Algorithm: MiniBatch, Batch: 256}, x, 1),
		run(t, KMeans{K: 10, NInit: 3}, x, 1)
	if batch.Inertia < full.Inertia*0.999 || batch.Inertia > full.Inertia*1.05 {
		t.Errorf("inertia %v by batches, %v by all rows", batch.Inertia, full.Inertia)
	}
}

func TestMeasuresOfOneOrAllClustersAreErrors(t *testing.T) {
	x := planted(6, 3, 2, 1, 1)
	for _, l := range [][]int32{{4, 4, 4, 4, 4, 4}, {0, 1, 2, 3, 4, 5}} {
		if _, err := Measure(x, l, nil); err == nil || !strings.Contains(err.Error(), "not defined") {
			t.Errorf("labels %v: error %v", l, err)
		}
	}
	if _, err := Trustworthiness(x, x, 3, nil); err == nil {
		t.Error("trustworthiness of half of the rows was computed")
	}
	if _, err := Stability([][]int32{{0, 1}}); err == nil {
		t.Error("one partition has a stability")
	}
	if s, err := Stability([][]int32{{0, 0, 1}, {7, 7, 2}}); err != nil || s != 1 {
		t.Errorf("stability of equal partitions is %v, %v", s, err)
	}
}

func TestAverageLinkageMergesByMeanDistance(t *testing.T) {
	tree := agglomerate(t, pack(t, [][]float32{{0}, {1}, {5}, {11}}), Average)
	want := []Merge{{0, 1, 1, 2}, {2, 4, 4.5, 3}, {3, 5, 9, 4}}
	if !reflect.DeepEqual(tree.Merges, want) {
		t.Errorf("merges %v, want %v", tree.Merges, want)
	}
	for _, k := range []int{0, 5} {
		if _, err := tree.Cut(k); err == nil {
			t.Errorf("a cut into %d of 4 rows was made", k)
		}
	}
}

func TestTSNEIsTheSameOnAnyNumberOfCoresAndAcceptsEqualRows(t *testing.T) {
	x := planted(150, 10, 5, 0.5, 1)
	copy(x.Row(7), x.Row(8))
	var pictures [2]Matrix
	for i, cores := range []int{1, 5} {
		before := runtime.GOMAXPROCS(cores)
		p, err := TSNE{MaxIter: 300, Seed: 3}.Run(context.Background(), x)
		runtime.GOMAXPROCS(before)
		if err != nil || p.finite() != nil {
			t.Fatal(err, p.finite())
		}
		pictures[i] = p
	}
	if !reflect.DeepEqual(pictures[0], pictures[1]) {
		t.Error("pictures on one and on five cores differ")
	}
}

func TestKnownGroupKeepsItsNameAndTagsTheirImages(t *testing.T) {
	tags, x := line([]float32{0, 1, 50, 51}, []int{5, 3, 2, 1})
	records := []labels.Record{record(1, labels.Train, "a", ""), record(1, labels.Train, "a", ""),
		record(2, labels.Index, "c", "")}
	CountImages(tags, records, map[labels.LandmarkKey]int{{Split: labels.Train, Landmark: 1}: 4,
		{Split: labels.Index, Landmark: 2}: 9})
	h := &labels.Hierarchy{Levels: []labels.Level{
		{Classes: []labels.Class{{Name: "b", Parent: 1}, {Name: "z", Parent: 0}, {Name: "a", Parent: -1}}},
		{Classes: []labels.Class{{Name: "unused", Parent: -1}, {Name: "low", Parent: -1}}}}}
	known := KnownFrom(tags, h)
	if want := (&Known{Names: []string{"low"}, Of: []int32{-1, 0, -1, -1}}); !reflect.DeepEqual(known, want) {
		t.Fatalf("known %+v, want %+v", known, want)
	}
	d := must.Get(NewDraft(tags, x, run(t, KMeans{K: 2, Known: known}, x, 1), labels.Origin{}))(t)
	c := d.Clusters[0]
	if c.Name != "low" || !c.Known || c.Landmarks != 8 || c.Images != 4 || !slices.Equal(c.Alternatives, []int{0, 1}) {
		t.Errorf("cluster %+v, want low with 8 landmarks, 4 images and the names a, b", c)
	}
	if d.Clusters[1].Known || d.Clusters[1].Images != 9 || !slices.Equal(d.Clusters[1].Alternatives, []int{3}) {
		t.Errorf("cluster %+v", d.Clusters[1])
	}
}

func TestKnownTagIsAlsoFoundByItsItem(t *testing.T) {
	class := func(name, qid string, parent int32) labels.Class {
		return labels.Class{Name: name, QID: qid, Parent: parent}
	}
	h := &labels.Hierarchy{Levels: []labels.Level{
		{Classes: []labels.Class{class("castle", "Q1", 0), class("lake", "Q2", 1), class("pond", "Q3", 1),
			class("basin", "Q3", 0), class("hill", "", 0)}},
		{Classes: []labels.Class{class("castle / fort", "", -1), class("water", "", -1)}}}}
	for name, c := range map[string]struct {
		tag  labels.Tag
		want int32
	}{
		"as it was":                     {labels.Tag{Name: "lake", QID: "Q2"}, 1},
		"another label":                 {labels.Tag{Name: "castle or fort", QID: "Q1"}, 0},
		"the label of another item":     {labels.Tag{Name: "lake", QID: "Q1"}, 0},
		"the item of two groups":        {labels.Tag{Name: "pool", QID: "Q3"}, -1},
		"and one of its labels":         {labels.Tag{Name: "pond", QID: "Q3"}, 1},
		"by its text, without an item":  {labels.Tag{Name: "hill", QID: "Q9"}, 0},
		"not known":                     {labels.Tag{Name: "tower", QID: "Q8"}, -1},
		"not known and without an item": {labels.Tag{Name: "tower"}, -1},
	} {
		known := KnownFrom([]labels.DraftTag{{Tag: c.tag}, {Tag: labels.Tag{Name: "castle", QID: "Q1"}},
			{Tag: labels.Tag{Name: "lake", QID: "Q2"}}}, h)
		if known == nil || known.Of[0] != c.want {
			t.Errorf("%s: %+v, want group %d", name, known, c.want)
		}
	}
}
