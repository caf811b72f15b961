package call

import (
	"reflect"
	"testing"

	"hgld/labels"
	"hgld/train/input"
)

// The rows to train on have the numbers of a training, and a class has one number in every split.
func TestNumberingOfAFolder(t *testing.T) {
	classes := [][]string{{"a", "b", "c", "d", "e"}, {"x", "y"}}
	train := []labels.Path{{3, 1}, {1, 1}, {3, -1}}
	held := []labels.Path{{4, 0}}
	n := NewNumbering(classes, train, held)
	if want := [][]string{{"b", "d", "e", "a", "c"}, {"y", "x"}}; !reflect.DeepEqual(n.Names, want) {
		t.Errorf("names %v, want %v", n.Names, want)
	}
	own, counts := input.Renumber(train)
	if got := n.Labels(train); !reflect.DeepEqual(got, own) || !reflect.DeepEqual(n.First, counts) {
		t.Errorf("to train on %v of %v classes, want %v of %v", got, n.First, own, counts)
	}
	got, want := n.Labels([]labels.Path{{0, 0}, {4, 0}, {-1, 1}}), []labels.Path{{3, 1}, {2, 1}, {-1, 0}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("other rows %v, want %v", got, want)
	}
	if n.ID() != NewNumbering(classes, train[:2], held).ID() || n.ID() == NewNumbering(classes, held, train).ID() {
		t.Error("equal numberings have other texts, or unequal ones the same")
	}
}
