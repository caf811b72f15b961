package format

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

// doc makes a document of lines "group/kind: tag tag", with 1, 2, 3, … landmarks.
// The group "-" is none and "x" drops.
func doc(t *testing.T, lines ...string) *Document {
	t.Helper()
	d := &Document{Landmarks: []map[string]int{{}, {}}}
	var entries []entry
	dropped := map[string]bool{}
	for _, line := range lines {
		group, tags, _ := strings.Cut(line, ":")
		name, kind, _ := strings.Cut(group, "/")
		if name == "-" || name == "x" {
			name, kind = "", ""
		} else if tags == "" {
			entries = append(entries, entry{names: []string{"", name, kind}, where: line})
		}
		for _, tag := range strings.Fields(tags) {
			entries = append(entries, entry{names: []string{tag, name, kind}, where: line})
			dropped[tag] = group == "x"
		}
	}
	var err error
	if d.Hierarchy, err = gather([]string{"tag", "supercategory", "kind"}, entries); err != nil {
		t.Fatal(err)
	}
	classes := d.Hierarchy.Levels[0].Classes
	for i := range classes {
		var n int
		fmt.Sscanf(classes[i].Name[1:], "%d", &n)
		d.Landmarks[0][classes[i].Name] = n
		if dropped[classes[i].Name] {
			classes[i].Dropped = "too generic"
		}
	}
	return d
}

func summary(d *Difference) []string {
	var list []string
	for _, c := range []struct {
		what string
		of   []GroupChange
	}{{"renamed", d.Renamed}, {"merged", d.Merged}, {"split", d.Split}, {"added", d.Added}, {"removed", d.Removed},
		{"moved", d.Moved}} {
		for _, g := range c.of {
			list = append(list, fmt.Sprintf("%s %s > %s: %s %d", c.what, strings.Join(g.From, "+"), strings.Join(g.To, "+"),
				strings.Join(g.Tags, " "), g.Landmarks))
		}
	}
	for _, p := range d.Parents {
		list = append(list, fmt.Sprintf("parent %s: %s > %s %d", p.Group, p.A, p.B, p.Landmarks))
	}
	for _, c := range d.TagsNew {
		list = append(list, "tag added "+c.Name+" in "+c.Group)
	}
	for _, c := range d.TagsGone {
		list = append(list, "tag removed "+c.Name+" in "+c.Group)
	}
	return list
}

func TestDiffReportsEveryKindOfChange(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []string
		want []string
	}{
		{"nothing", []string{"church/h: t1 t2", "x: t3", "-: t4"}, []string{"church/h: t2 t1", "x: t3", "-: t4"}, nil},
		{"a move", []string{"church/h: t1 t2 t3", "lake/n: t4 t5"}, []string{"church/h: t1 t2", "lake/n: t4 t5 t3"},
			[]string{"moved church > lake: t3 3"}},
		{"a rename", []string{"church/h: t1 t2 t3", "lake/n: t4"}, []string{"churches/h: t1 t2 t3", "lake/n: t4"},
			[]string{"renamed church > churches: t3 t2 t1 6"}},
		{"a rename and a move", []string{"church/h: t1 t2 t3", "lake/n: t4"}, []string{"churches/h: t2 t3", "lake/n: t4 t1"},
			[]string{"renamed church > churches: t3 t2 5", "moved church > lake: t1 1"}},
		{"a merge", []string{"church/h: t1 t2", "chapel/h: t3", "lake/n: t4"}, []string{"church/h: t1 t2 t3", "lake/n: t4"},
			[]string{"merged chapel+church > church: t3 t2 t1 6"}},
		{"a merge under a new name", []string{"church/h: t1 t2", "chapel/h: t3 t5", "lake/n: t4"},
			[]string{"sacred/h: t1 t2 t3 t5", "lake/n: t4"}, []string{"merged chapel+church > sacred: t5 t3 t2 t1 11"}},
		{"a split", []string{"church/h: t1 t2 t3"}, []string{"church/h: t1 t2", "chapel/h: t3"},
			[]string{"split church > chapel+church: t3 t2 t1 6"}},
		{"a split under new names", []string{"sacred/h: t1 t2 t3"}, []string{"church/h: t1 t2", "chapel/h: t3"},
			[]string{"split sacred > chapel+church: t3 t2 t1 6"}},
		{"a split of which a part is merged", []string{"church/h: t1 t2 t3 t5 t6", "shrine/h: t4"},
			[]string{"sacred/h: t1 t2 t3 t4", "chapel/h: t5 t6"},
			[]string{"merged church+shrine > sacred: t4 t3 t2 t1 10", "split church > chapel+sacred: t6 t5 11"}},
		{"a group born of several", []string{"church/h: t1 t2 t3", "lake/n: t4 t5 t6"},
			[]string{"church/h: t1 t2", "lake/n: t4 t5", "odd/h: t3 t6"},
			[]string{"added  > odd: t6 t3 9", "moved lake > odd: t6 6", "moved church > odd: t3 3"}},
		{"a group gone into several", []string{"church/h: t1 t2", "lake/n: t4 t5", "odd/h: t3 t6"},
			[]string{"church/h: t1 t2 t3", "lake/n: t4 t5 t6"},
			[]string{"removed odd > : t6 t3 9", "moved odd > lake: t6 6", "moved odd > church: t3 3"}},
		{"a group without members", []string{"church/h: t1"}, []string{"church/h: t1", "zoo/h"},
			[]string{"added  > zoo:  0"}},
		{"another kind", []string{"garden/h: t1 t2", "lake/n: t3"}, []string{"garden/n: t1 t2", "lake/n: t3"},
			[]string{"parent garden: h > n 3"}},
		{"another kind and name", []string{"garden/h: t1 t2", "lake/n: t3"}, []string{"gardens/n: t1 t2", "lake/n: t3"},
			[]string{"renamed garden > gardens: t2 t1 3", "parent garden -> gardens: h > n 3"}},
		{"a drop", []string{"church/h: t1 t2"}, []string{"church/h: t1", "x: t2"},
			[]string{"moved church > (dropped): t2 2"}},
		{"a tag decided", []string{"church/h: t1", "-: t2"}, []string{"church/h: t1 t2"}, []string{"moved  > church: t2 2"}},
		{"new and lost tags", []string{"church/h: t1 t2", "x: t7"}, []string{"church/h: t1 t3", "-: t9"},
			[]string{"tag added t9 in ", "tag added t3 in church", "tag removed t7 in (dropped)", "tag removed t2 in church"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := must.Get(Diff(doc(t, c.a...), doc(t, c.b...)))(t)
			if got := summary(d); !slices.Equal(got, c.want) {
				t.Errorf("%q\nwant %q", got, c.want)
			}
			if d.None() != (len(c.want) == 0) {
				t.Errorf("None is %v", d.None())
			}
		})
	}
}

// Whatever changes between two curations, no tag is lost: those of both are equal
// or stand in exactly one change, and the difference the other way round touches
// as many.
func TestDiffAccountsForEveryTag(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 60 {
		var sides [2]*Document
		for side := range sides {
			lines := []string{"-:", "x:", "a/n:", "b/n:", "c/h:", "d/h:", "e/h:"}
			for tag := range 24 {
				if random.IntN(8) > 0 {
					at := random.IntN(len(lines))
					lines[at] += fmt.Sprintf(" t%d", tag)
				}
			}
			sides[side] = doc(t, lines...)
		}
		d := must.Get(Diff(sides[0], sides[1]))(t)
		told := map[string]int{}
		for _, list := range [][]GroupChange{d.Renamed, d.Merged, d.Split, d.Moved} {
			for _, g := range list {
				for _, tag := range g.Tags {
					told[tag]++
				}
			}
		}
		in := func(side int) map[string]string {
			of := map[string]string{}
			for _, r := range rowsOf(sides[side].Hierarchy) {
				of[r.tag] = r.group + "|" + r.dropped
			}
			return of
		}
		a, b := in(0), in(1)
		changed := 0
		for tag, was := range a {
			now, both := b[tag]
			if both && now != was {
				changed++
				if told[tag] != 1 {
					t.Fatalf("tag %s went from %q to %q, and %d changes say so:\n%q", tag, was, now, told[tag], summary(d))
				}
			}
		}
		back := must.Get(Diff(sides[1], sides[0]))(t)
		if back.Tags != d.Tags || back.Equal != d.Equal || len(back.TagsNew) != len(d.TagsGone) ||
			len(back.TagsGone) != len(d.TagsNew) {
			t.Errorf("the other way round:\n%q\n%q", summary(back), summary(d))
		}
		if d.Tags-d.Equal != changed {
			t.Errorf("%d of %d tags are equal, want %d changed", d.Equal, d.Tags, changed)
		}
	}
}

func TestDiffOfListsOfGroups(t *testing.T) {
	a, b := doc(t, "church/h", "lake/n"), doc(t, "church/h", "zoo/h")
	d, err := Diff(a, b)
	must.Do(t, err)
	if got, want := summary(d), []string{"added  > zoo:  0", "removed lake > :  0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	a, b = doc(t, "park/h", "lake/n"), doc(t, "park/n", "lake/n")
	if d, err = Diff(a, b); err != nil {
		t.Fatal(err)
	}
	if got, want := summary(d), []string{"parent park: h > n 0"}; !slices.Equal(got, want) || d.None() {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDiffOfADocumentAndItsExportsIsEmpty(t *testing.T) {
	for _, format := range []string{"hierarchy", "skos"} {
		back := read(t, write(t, church(), format), "x")
		d := must.Get(Diff(church(), back))(t)
		if !d.None() || d.Equal != 9 {
			t.Errorf("%s: %q", format, summary(d))
		}
	}
}

func TestDiffMatchesTagsByText(t *testing.T) {
	a, b := doc(t, "church/h: t1 t2 t3"), doc(t, "church/h: t1 t2 t3")
	a.Hierarchy.Levels[0].Classes[0].QID, b.Hierarchy.Levels[0].Classes[0].QID = "Q1", "Q2"
	b.Hierarchy.Levels[0].Classes[1].QID = "Q3"
	d := must.Get(Diff(a, b))(t)
	if !d.None() {
		t.Errorf("items alone differ, and it says %q", summary(d))
	}
}

// The text of a hierarchy with the default levels and one with others can be
// compared; levels have the names of the deeper one.
func TestDiffOfTwoAndThreeLevels(t *testing.T) {
	sheet := read(t, write(t, church(), "sheet"), "x.csv")
	d, err := Diff(church(), sheet)
	must.Do(t, err)
	want := []string{"tag removed building in (dropped)", "tag removed tower in "}
	if got := summary(d); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	tags := func(dropped string) *Document {
		return &Document{Hierarchy: &labels.Hierarchy{Levels: []labels.Level{{Name: "tag",
			Classes: []labels.Class{{Name: "t1", Parent: -1}, {Name: "t2", Parent: -1, Dropped: dropped}}}}}}
	}
	if d, err = Diff(tags(""), tags("too generic")); err != nil ||
		!slices.Equal(summary(d), []string{"moved  > (dropped): t2 0"}) {
		t.Errorf("of tags alone: %v %v", d, err)
	}
	if _, err := Diff(&Document{Hierarchy: &labels.Hierarchy{Levels: []labels.Level{{Name: "tag"}}}}, sheet); err != nil {
		t.Errorf("with an empty document: %v", err)
	}
}
