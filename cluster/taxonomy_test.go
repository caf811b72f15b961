package cluster

import (
	"context"
	"errors"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/usage"
	"hgld/labels"
)

// worldOf returns tags of nine classes with their landmarks, and the graph
//
//	entity ← building ← church ← chapel, cathedral      landmarks: church 8, chapel 4, cathedral 2
//	         building ← house ← villa                               house 2, villa 2
//	entity ← water ← lake ← pond; water ← river                     lake 8, pond 4, river 4
//	         chapel is also a subclass of room, which is one of building; building and house form a circle
//
// and two tags without a chain: "thing" has no item, "odd" one without classes above it.
func worldOf() ([]labels.DraftTag, *labels.Items, Matrix) {
	up := map[string][]string{"building": {"entity", "house"}, "church": {"building"}, "chapel": {"church", "room"},
		"cathedral": {"church"}, "house": {"building"}, "villa": {"house"}, "room": {"building"}, "water": {"entity"},
		"lake": {"water"}, "pond": {"lake"}, "river": {"water"}, "entity": nil, "odd": nil}
	var items []labels.Item
	for label, above := range up {
		item := labels.Item{ID: "Q" + label, Label: label}
		for _, class := range above {
			item.SubclassOf = append(item.SubclassOf, "Q"+class)
		}
		items = append(items, item)
	}
	items = append(items, labels.Item{ID: "Qgone", Missing: true})
	items[slices.IndexFunc(items, func(i labels.Item) bool { return i.Label == "church" })].Merged = []string{"Qkirk"}
	var tags []labels.DraftTag
	var at []float32
	for _, t := range []struct {
		name, item string
		landmarks  int
		x, y       float32
	}{{"church", "Qkirk", 8, 0, 1}, {"lake", "Qlake", 8, 9, 0}, {"chapel", "Qchapel", 4, 0, 2}, {"pond", "Qpond", 4, 9, 1},
		{"river", "Qriver", 4, 8, 0}, {"cathedral", "Qcathedral", 2, 0, 3}, {"house", "Qhouse", 2, 1, 9},
		{"villa", "Qvilla", 2, 2, 9}, {"thing", "", 3, 8, 1}, {"odd", "Qodd", 1, 1, 8}} {
		tags = append(tags, labels.DraftTag{Tag: labels.Tag{Name: t.name, QID: t.item}, Landmarks: t.landmarks})
		at = append(at, t.x, t.y)
	}
	return tags, labels.NewItems(items), Matrix{Rows: len(tags), Cols: 2, Data: at}
}

func taxonomyPlan(t *testing.T, o Options, k int) *Plan {
	t.Helper()
	tags, items, x := worldOf()
	p := must.Get(NewPlan(tags, o, k))(t)
	p.UseItems(func() (*labels.Items, error) { return items, nil })
	must.Do(t, p.SetVectors(x))
	return p
}

var byClasses = Options{Algorithm: "taxonomy", Init: "ward", Join: "none", NInit: 1, MaxIter: 10}

// The eight tags with a chain have 34 landmarks. In the circle, all that is below building is below house too.
func TestInformationContentOfClasses(t *testing.T) {
	tags, items, _ := worldOf()
	g := newTaxonomy(tags, items)
	if g.chained != 8 {
		t.Errorf("%d tags have a chain, want 8", g.chained)
	}
	want := map[string]float64{"entity": 34, "building": 18, "church": 14, "chapel": 4, "cathedral": 2, "room": 4,
		"house": 18, "villa": 2, "water": 16, "lake": 12, "pond": 4, "river": 4}
	if len(g.classes) != len(want) {
		t.Errorf("%d classes, want %d", len(g.classes), len(want))
	}
	for n, class := range g.classes {
		if math.Abs(g.content[n]-math.Log(34/want[class.Label])) > 1e-12 {
			t.Errorf("%s: content %v, want ln(34/%v)", class.Label, g.content[n], want[class.Label])
		}
	}
}

// By hand, first: building gains 5 ln(34/18) = 3.18 (house has the same tags and comes later), villa and
// cathedral ln(34/2) = 2.83, water 3 ln(34/16) = 2.26. After building, water gains 2.26, villa and cathedral 2.20,
// church .75. Then cathedral comes before villa, for it has more classes above it.
func TestCutByHand(t *testing.T) {
	tags, items, _ := worldOf()
	g := newTaxonomy(tags, items)
	for k, want := range map[int]string{
		1: "building - building - - building building building - -",
		2: "building water building water water building building building - -",
		3: "building water building water water cathedral building building - -",
		4: "building water building water water cathedral building villa - -",
	} {
		chosen, group := g.cut(k, func(int) float64 { return 1 })
		var got []string
		for _, class := range group {
			if class < 0 {
				got = append(got, "-")
				continue
			}
			if got = append(got, g.classes[class].Label); !slices.Contains(chosen, class) {
				t.Errorf("%s was not chosen", g.classes[class].Label)
			}
		}
		if strings.Join(got, " ") != want || len(chosen) != k {
			t.Errorf("%d classes: %q, want %q", k, got, want)
		}
	}
	// There are eight groups at most, one for each tag with a chain; classes that lost all tags do not count.
	if chosen, _ := g.cut(20, func(int) float64 { return 1 }); len(chosen) != 8 {
		t.Errorf("%d of eight possible groups", len(chosen))
	}
	// A tag that counts more moves the cut.
	chosen, _ := g.cut(1, func(i int) float64 { return map[string]float64{"river": 9}[tags[i].Name] })
	if label := g.classes[chosen[0]].Label; label != "river" {
		t.Errorf("the class of the only tag that counts is %s", label)
	}
}

func TestTaxonomyMakesADraft(t *testing.T) {
	p := taxonomyPlan(t, byClasses, 5)
	r := must.Get(p.Run(t.Context(), 5, 1, nil))(t)
	d := must.Get(p.Draft(r, labels.Origin{}))(t)
	of := map[string]string{}
	classes := 0
	for _, c := range d.Clusters {
		if c.Class != "" {
			classes++
			if c.Class != "Q"+c.Name || c.Known {
				t.Errorf("cluster %+v", c)
			}
		}
		for _, m := range c.Members {
			of[d.Tags[m.Tag].Name] = c.Name
		}
	}
	if classes != 4 || of["villa"] == of["church"] || p.Chained() != 8 ||
		!strings.HasPrefix(d.Origin.Algorithm, "taxonomy") {
		t.Errorf("%d clusters have classes: %v; %+v", classes, of, d.Origin)
	}
	if len(of) != 10 {
		t.Errorf("%d of 10 tags have a cluster", len(of))
	}
}

func TestTaxonomyIsTheSameOnAnyNumberOfCores(t *testing.T) {
	for _, o := range []Options{byClasses, {Algorithm: "elkan", Init: "taxonomy", Join: "none", NInit: 9, MaxIter: 10}} {
		var results [2]*Result
		for i, cores := range []int{1, 5} {
			before := runtime.GOMAXPROCS(cores)
			p := taxonomyPlan(t, o, 4)
			r, err := p.Run(context.Background(), 4, 1, nil)
			runtime.GOMAXPROCS(before)
			must.Do(t, err)
			if results[i] = r; p.Random() {
				t.Errorf("%s from %s depends on the seed", o.Algorithm, o.Init)
			}
		}
		for i := range results { // items are other pointers in each plan
			results[i].Classes = nil
		}
		if !reflect.DeepEqual(results[0], results[1]) {
			t.Errorf("%s from %s: results on one and on five cores differ", o.Algorithm, o.Init)
		}
	}
}

func TestTaxonomyRefusesWhatItCannotUse(t *testing.T) {
	var option *usage.Error
	p := taxonomyPlan(t, byClasses, 3)
	p.UseItems(func() (*labels.Items, error) { return labels.NewItems(nil), nil })
	if _, err := p.Run(t.Context(), 3, 1, nil); !errors.As(err, &option) ||
		!strings.Contains(err.Error(), "none of the 10") {
		t.Errorf("no items: %v", err)
	}
	p = taxonomyPlan(t, byClasses, 3)
	p.items = nil
	if _, err := p.Run(t.Context(), 3, 1, nil); !errors.Is(err, errNoItems) {
		t.Errorf("no file: %v", err)
	}
	x := planted(50, 3, 2, 1, 1)
	for name, run := range map[string]Method{"taxonomy": withoutItems, "k-means": byKMeans(Lloyd)} {
		if _, err := run(t.Context(), KMeans{K: 3, Init: TaxonomyMeans}, x, 1); !errors.Is(err, errNoItems) {
			t.Errorf("%s without a plan: %v", name, err)
		}
	}
}
