package embeddings

import (
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/device/cpu"
)

// Rows that lack levels are an error, or are kept. Row 3 lacks the parent that row 0 names for its class.
func TestLabelsThatLackLevels(t *testing.T) {
	dir := t.TempDir()
	var s said
	in := Input{Embeddings: numbers(t, dir, "e.npy", "F32", []int{4, 1}, []float32{1, 2, 3, 4}),
		Labels: file(t, dir, "l.csv", "class,parent\na,p\nb,p\n,q\na,\n"), Open: Open, Labelling: Labelling{Log: s.log}}
	if _, err := in.Load(cpu.New(1)); err == nil || !strings.Contains(err.Error(), "l.csv:4: class is empty") {
		t.Fatalf("error %v", err)
	}
	in.Partial = true
	e := must.Get(in.Load(cpu.New(1)))(t)
	defer e.Close()
	for i, want := range []labels.Path{{0, 0}, {1, 0}, {-1, 1}, {0, 0}} {
		if !slices.Equal(e.Query.Labels[i], want) {
			t.Errorf("row %d is %v, want %v", i, e.Query.Labels[i], want)
		}
	}
}
