package labels

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// What the tree implies where a path lacks a level: levels are class, parent, kind.
func TestRelatedPathsShareWhatIsKnown(t *testing.T) {
	for _, c := range []struct {
		p, q     Path
		from, to int
		shared   int
		known    bool
	}{
		{Path{0, 0, 0}, Path{0, 0, 0}, 0, 3, 3, true},
		{Path{0, 0, 0}, Path{1, 0, 0}, 0, 3, 2, true},
		{Path{0, 0, 0}, Path{1, 1, 1}, 0, 3, 0, true},
		{Path{0, 0, 0}, Path{0, -1, -1}, 0, 3, 3, true},   // one class has one parent
		{Path{0, -1, -1}, Path{0, -1, -1}, 0, 3, 3, true}, // whichever it is
		{Path{0, 0, 0}, Path{-1, -1, 1}, 0, 3, 0, true},   // another kind: another class and parent
		{Path{0, 0, 0}, Path{-1, 0, 0}, 0, 3, 0, false},   // may be the same class
		{Path{0, 0, 0}, Path{-1, 0, 0}, 1, 3, 2, true},
		{Path{0, 0, 0}, Path{1, -1, 0}, 0, 3, 0, false}, // may have the same parent
		{Path{0, 0, 0}, Path{1, -1, 0}, 0, 1, 0, true},
		{Path{0, -1, 0}, Path{1, 5, 0}, 0, 3, 1, true}, // does not ask for the parent
		{Path{0, -1, 0}, Path{1, 5, 0}, 1, 2, 0, false},
		{Path{-1, -1, -1}, Path{0, 0, 0}, 0, 3, 0, false},
	} {
		shared, known := c.p.Related(c.q, c.from, c.to)
		if shared != c.shared || known != c.known {
			t.Errorf("%v and %v at levels %d to %d: %d, %v; want %d, %v", c.p, c.q, c.from, c.to, shared, known, c.shared,
				c.known)
		}
	}
}

// Class 1 is of parent 4 in one row and of kind 9 in another; parent 5 is of kind 8.
func TestCompleteFillsInWhatOtherRowsSay(t *testing.T) {
	got := Complete([]Path{{1, 4, -1}, {1, -1, 9}, {-1, 4, -1}, {2, 5, -1}}, []Path{{-1, 5, 8}, {1, -1, -1}, {-1, -1, 9}})
	want := [][]Path{{{1, 4, 9}, {1, 4, 9}, {-1, 4, -1}, {2, 5, 8}}, {{-1, 5, 8}, {1, 4, 9}, {-1, -1, 9}}}
	for i, list := range want {
		for j, p := range list {
			if !slices.Equal(got[i][j], p) {
				t.Errorf("row %d of %d is %v, want %v", j, i, got[i][j], p)
			}
		}
	}
	full := []Path{{0, 0}, {-1, -1}, {1, 0}}
	if got := Complete(full)[0]; &got[0] != &full[0] {
		t.Error("rows of full depth are copied")
	}
}

// A row that lacks a level says nothing there, and gives a class the parent that it names.
func TestBuilderTakesUnevenRows(t *testing.T) {
	b := NewBuilder("class", "parent", "kind")
	add := func(names ...string) (Path, error) {
		return b.Add(Row{Names: names, Where: "l.csv:" + names[0], Partial: true})
	}
	for _, c := range []struct {
		names []string
		want  Path
	}{
		{[]string{"a", "", "x"}, Path{0, -1, 0}},
		{[]string{"a", "p", ""}, Path{0, 0, -1}},
		{[]string{"", "p", ""}, Path{-1, 0, -1}},
		{[]string{"", "", "y"}, Path{-1, -1, 1}},
		{[]string{"b", "q", "y"}, Path{1, 1, 1}},
	} {
		if p, err := add(c.names...); err != nil || !slices.Equal(p, c.want) {
			t.Errorf("%q: %v, %v; want %v", c.names, p, err, c.want)
		}
	}
	var two *ParentsError
	if _, err := add("a", "q", "y"); !errors.As(err, &two) || two.Class != "a" {
		t.Errorf("two parents: %v", err)
	}
	if _, err := add("", "", ""); err == nil || !strings.Contains(err.Error(), "no class at any level") {
		t.Errorf("no class: %v", err)
	}
	h := b.Hierarchy()
	var file bytes.Buffer
	must.Do(t, WriteHierarchy(&file, h))
	if again, err := ReadHierarchy(&file, "h.json"); err != nil || !reflect.DeepEqual(again, h) {
		t.Errorf("it was written as %+v and read as %+v, error %v", h, again, err)
	}
	if err := h.Check(); err != nil || !h.Partial {
		t.Errorf("uneven %v, %v", h.Partial, err)
	}
}
