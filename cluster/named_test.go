package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/usage"
	"hgld/labels"
)

// planToName returns a plan for tags at the given angles, in degrees.
func planToName(t *testing.T, angles ...float64) *Plan {
	t.Helper()
	var tags []labels.DraftTag
	for i := range angles {
		tags = append(tags, labels.DraftTag{Tag: labels.Tag{Name: fmt.Sprint("tag ", i)}, Landmarks: 1})
	}
	p := must.Get(NewPlan(tags, Options{Algorithm: "lloyd", Init: "ward", Join: "none", NInit: 1, MaxIter: 10}, 0))(t)
	must.Do(t, p.SetVectors(atAngles(angles...)))
	return p
}

// atAngles returns vectors of length 3 at angles in degrees.
func atAngles(angles ...float64) Matrix {
	x := NewMatrix(len(angles), 2)
	for i, a := range angles {
		copy(x.Row(i), []float32{float32(3 * math.Cos(a*math.Pi/180)), float32(3 * math.Sin(a*math.Pi/180))})
	}
	return x
}

func TestTagsClearlyNearestToANameAreInItsGroup(t *testing.T) {
	p := planToName(t, 5, 85, 44, 46, 200, 205)
	must.Do(t, p.NameGroups([]string{"east", "north", "north-east by a hair"}, atAngles(0, 90, 92), 0.05))
	// 85° is nearer to 90° than to 92°, but not by much.
	r := must.Get(p.Run(context.Background(), 5, 1, nil))(t)
	if r.Labels[0] != 0 || r.Labels[1] < 3 || r.Labels[2] < 3 || r.Labels[4] < 3 || r.Labels[4] != r.Labels[5] {
		t.Errorf("groups %v; want the first in 0, the last two together, and all but the first in open clusters", r.Labels)
	}
	d := must.Get(p.Draft(r, labels.Origin{}))(t)
	at := slices.IndexFunc(d.Clusters, func(c labels.Cluster) bool { return c.Name == "east" })
	if at < 0 || !d.Clusters[at].Known || len(d.Clusters) != 3 {
		t.Fatalf("clusters %+v; want east and two open ones", d.Clusters)
	}
	if got := d.Clusters[at].Members[0].Distance; got < 1.5 { // from a vector of length 3 to a name of length 1
		t.Errorf("a member is %v from its name, want its distance from the unit vector of the name", got)
	}
	if d.Origin.Margin != 0.05 {
		t.Errorf("origin %+v has no margin", d.Origin)
	}
}

func TestPlanOfFewerTagsKeepsNamedGroups(t *testing.T) {
	p := planToName(t, 5, 85, 20, 200)
	if p.Least() != 1 {
		t.Errorf("without names the least number of clusters is %d, want 1", p.Least())
	}
	must.Do(t, p.NameGroups([]string{"east", "north"}, atAngles(0, 90), 0.05))
	q := p.Without(func(i int) bool { return i == 1 })
	must.Do(t, q.SetOptions(p.options))
	r, err := q.Run(context.Background(), q.Least(), 1, nil)
	if err != nil || !slices.Equal(r.Labels, []int32{0, 0, 1}) { // 200° is nearer to north
		t.Errorf("groups %v, %v", r, err)
	}
}

func TestNamedGroupsMayTakeAllTags(t *testing.T) {
	p := planToName(t, 5, 85, 20)
	must.Do(t, p.NameGroups([]string{"east", "north"}, atAngles(0, 90), 0))
	r := must.Get(p.Run(context.Background(), 3, 1, nil))(t)
	if _, err := p.Draft(r, labels.Origin{}); err != nil || !slices.Equal(r.Labels, []int32{0, 1, 0}) {
		t.Errorf("groups %v, %v; want 0, 1, 0", r.Labels, err)
	}
}

func TestNameGroupsRefusesInvalidArguments(t *testing.T) {
	two := []string{"east", "north"}
	for name, err := range map[string]error{
		"one name":      planToName(t, 1, 2).NameGroups(two[:1], atAngles(0), 0),
		"other vectors": planToName(t, 1, 2).NameGroups(two, NewMatrix(2, 3), 0),
		"a zero vector": planToName(t, 1, 2).NameGroups(two, NewMatrix(2, 2), 0),
	} {
		if option := (*usage.Error)(nil); !errors.As(err, &option) {
			t.Errorf("%s: error %v, want a usage error", name, err)
		}
	}
	p := planToName(t, 1, 2, 3)
	must.Do(t, p.NameGroups(two, atAngles(0, 90), 0))
	var option *usage.Error
	if _, err := p.Run(context.Background(), 2, 1, nil); !errors.As(err, &option) {
		t.Errorf("two clusters for two names: error %v, want a usage error", err)
	}
}

func TestNamesAreEncodedAsTagsAre(t *testing.T) {
	tags := []string{"road bridge", "railway bridge", "church"}
	h := Hashing{Dim: 64, MinN: 2, MaxN: 4, IDF: true}
	for _, p := range []Prompt{"{}", "a photo of a {}\nthe {} of a town"} {
		want := must.Get(Embed(t.Context(), h, p, tags))(t)
		got, err := (&Namer{Encoder: h, Prompt: p, Tags: tags}).Names(t.Context(), []string{"church", "bridge"})
		must.Do(t, err)
		if !slices.Equal(got[0], want.Row(2)) {
			t.Errorf("%q: the name of a tag has another vector than the tag", p)
		}
	}
}

func TestNamesMissingFromATableHaveNoVector(t *testing.T) {
	l := must.Get(NewLookup("x.npy", "ab", atAngles(0, 90), "x.txt", []string{"a lake", "a church"}))(t)
	got, err := (&Namer{Encoder: l, Prompt: "a {}"}).Names(t.Context(), []string{"church", "castle", "lake"})
	if err != nil || got[0] == nil || got[1] != nil || got[2] == nil {
		t.Errorf("%v, %v; want vectors of church and lake alone", got, err)
	}
}

// fixed is an encoder of one vector.
type fixed struct{ Hashing }

func (fixed) Name() string { return "fixed" }

func TestLazyEncoderIsOpenedOnlyForUncachedTexts(t *testing.T) {
	dir, opened := t.TempDir(), 0
	encode := func(name string, texts ...string) error {
		lazy := &Lazy{Of: name, Open: func() (Encoder, error) {
			opened++
			return fixed{Hashing{Dim: 8, MinN: 1, MaxN: 1}}, nil
		}}
		c, err := OpenCache(lazy, dir)
		must.Do(t, err)
		_, err = c.Encode(t.Context(), texts)
		return err
	}
	for _, c := range []struct {
		texts  []string
		opened int
	}{{[]string{"a"}, 1}, {[]string{"a"}, 1}, {[]string{"a", "b"}, 2}} {
		if err := encode("fixed", c.texts...); err != nil || opened != c.opened {
			t.Errorf("%v: opened %d times, want %d: %v", c.texts, opened, c.opened, err)
		}
	}
	if err := encode("another", "a"); err == nil {
		t.Error("an encoder with another name is taken")
	}
}
