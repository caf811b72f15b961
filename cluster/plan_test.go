package cluster

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/usage"
	"hgld/labels"
)

// planOf returns a plan for n tags in two clusters far from each other: even and odd ones.
func planOf(t *testing.T, n int) *Plan {
	t.Helper()
	var tags []labels.DraftTag
	x := NewMatrix(n, 2)
	for i := range n {
		tags = append(tags, labels.DraftTag{Tag: labels.Tag{Name: fmt.Sprint("tag ", i)}, Landmarks: n - i})
		copy(x.Row(i), []float32{float32(i % 2 * 100), float32(i)})
	}
	p := must.Get(NewPlan(tags, Options{Algorithm: "lloyd", Init: "ward", Join: "none", NInit: 1, MaxIter: 10}, 2))(t)
	must.Do(t, p.SetVectors(x))
	return p
}

func TestPlanRefusesOptionsThatDoNotFit(t *testing.T) {
	good := Options{Algorithm: "lloyd", Init: "ward", Join: "none", NInit: 1}
	tags := planOf(t, 6).Tags
	for name, change := range map[string]func(*Options){
		"algorithm": func(o *Options) { o.Algorithm = "loyd" }, "init": func(o *Options) { o.Init = "wart" },
		"n_init": func(o *Options) { o.NInit = 0 }, "smooth": func(o *Options) { o.Smooth = -1 },
		"pca": func(o *Options) { o.PCA = -1 }, "whiten": func(o *Options) { o.Whiten = true },
	} {
		o := good
		change(&o)
		var option *usage.Error
		if _, err := NewPlan(tags, o, 2); !errors.As(err, &option) || o.Check() == nil {
			t.Errorf("%s: error %v, want a usage error", name, err)
		}
	}
	if _, err := NewPlan(tags, good, 7); err == nil {
		t.Error("seven clusters of six tags are accepted")
	}
	if _, err := NewPlan(make([]labels.DraftTag, mostTreeRows+1), good, 2); err == nil {
		t.Error("a tree of too many rows is accepted")
	}
	p := planOf(t, 6)
	if err := p.WeighBy("images"); err == nil {
		t.Error("weights by images that nobody counted are accepted")
	}
	if err := p.WeighBy("landmark"); err == nil {
		t.Error("a weight that does not exist is accepted")
	}
}

func TestPlanClustersAndNamesItsDraft(t *testing.T) {
	p := planOf(t, 6)
	if p.Random() {
		t.Error("a start from Ward's tree counts as random")
	}
	r := must.Get(p.Run(t.Context(), 2, 1, nil))(t)
	d, err := p.Draft(r, labels.Origin{})
	if err != nil || len(d.Clusters) != 2 || d.Clusters[0].Landmarks != 6+4+2 || d.Origin.Init != "ward" {
		t.Errorf("%+v, %v; want the even tags and the odd ones", d, err)
	}
}

// The function that selects tags to leave out is called once for each tag, including known ones, so
// that a random selection does not depend on the groups.
func TestPlanWithoutKeepsKnownGroups(t *testing.T) {
	p := planOf(t, 6)
	h := &labels.Hierarchy{Levels: []labels.Level{{Classes: []labels.Class{{Name: "tag 1", Parent: 0}}},
		{Classes: []labels.Class{{Name: "odd", Parent: -1}}}}}
	if groups, tags, err := p.KeepGroups(h, 2); groups != 1 || tags != 1 || err != nil {
		t.Fatalf("%d groups of %d tags, %v", groups, tags, err)
	}
	var asked []int
	q := p.Without(func(row int) bool { asked = append(asked, row); return row < 3 })
	if !slices.Equal(asked, []int{0, 1, 2, 3, 4, 5}) {
		t.Errorf("asked about %v", asked)
	}
	if got := Names(q.Tags); !slices.Equal(got, []string{"tag 1", "tag 3", "tag 4", "tag 5"}) || q.Groups() != 1 ||
		q.x.Row(0)[1] != 1 {
		t.Errorf("%q are left with %v", got, q.x)
	}
}
