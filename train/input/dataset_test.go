package input

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/testing/places"
)

// rows is a data set of labels alone.
type rows []labels.Path

func (d rows) Len() int                                   { return len(d) }
func (d rows) Levels() []string                           { return []string{"fine", "coarse", "top"}[:len(d[0])] }
func (d rows) Classes(int) []string                       { return []string{"a", "b", "c"} }
func (d rows) Labels(i int) labels.Path                   { return d[i] }
func (d rows) ID(i int) string                            { return string(rune('A' + i)) }
func (d rows) Image(context.Context, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func TestHoldOutTakesItsShareOfEveryFamily(t *testing.T) {
	var d rows
	sizes := []int{12, 9, 3, 1, 1, 1, 1, 1, 1, 30} // fine classes of each coarse class
	class := int32(0)
	for coarse, n := range sizes {
		for range n {
			for range 4 {
				d = append(d, labels.Path{class, int32(coarse)})
			}
			class++
		}
	}
	seen := map[int32]bool{}
	for seed := range uint64(20) {
		rest, held, err := HoldOut(d, 1.0/3, seed)
		must.Do(t, err)
		if rest.Len()+held.Len() != d.Len() {
			t.Fatalf("%d and %d of %d items", rest.Len(), held.Len(), d.Len())
		}
		perFamily := map[int32]int{}
		classes := map[int32]bool{}
		for i := range held.Len() {
			p := held.Labels(i)
			if !classes[p[0]] {
				classes[p[0]] = true
				perFamily[p[1]]++
			}
			seen[p[0]] = true
		}
		for i := range rest.Len() {
			if classes[rest.Labels(i)[0]] {
				t.Fatal("a class is on both sides")
			}
		}
		if n := len(classes); n != 20 {
			t.Errorf("seed %d: %d of 60 classes are held out", seed, n)
		}
		for coarse, n := range sizes {
			if got := perFamily[int32(coarse)]; got < n/3 || got > (n+2)/3 {
				t.Errorf("seed %d: family of %d gives %d", seed, n, got)
			}
		}
	}
	if len(seen) < 58 {
		t.Errorf("20 seeds held out only %d of 60 classes: the choice is not random", len(seen))
	}
}

func TestHoldOutIsAFunctionOfItsSeed(t *testing.T) {
	d := &places.Set{Forms: 4, PerForm: 5, Views: 3}
	_, a, err := HoldOut(d, 0.4, 7)
	must.Do(t, err)
	_, b, _ := HoldOut(d, 0.4, 7)
	_, c, _ := HoldOut(d, 0.4, 8)
	if fingerprintOf(t, a) != fingerprintOf(t, b) || fingerprintOf(t, a) == fingerprintOf(t, c) {
		t.Error("the same seed holds out other classes, or another one the same")
	}
}

func fingerprintOf(t *testing.T, d Dataset) string {
	t.Helper()
	list, err := Paths(d)
	must.Do(t, err)
	return FingerprintOf(d, list)
}

func TestHoldOutRefusesAShareThatLeavesOneSideEmpty(t *testing.T) {
	d := rows{{0, 0}, {0, 0}, {1, 0}}
	for _, share := range []float64{0, 1, -1, 0.001, 0.999} {
		if _, _, err := HoldOut(d, share, 1); err == nil {
			t.Errorf("share %v was taken", share)
		}
	}
}

func TestLevelsMustBeATree(t *testing.T) {
	d := rows{{0, 0}, {1, 1}, {0, 1}}
	err := CheckTree(d, []labels.Path(d))
	if err == nil || !strings.Contains(err.Error(), `fine "a" has two parents: A and C`) {
		t.Errorf("error %v", err)
	}
	if err := CheckTree(d, []labels.Path{{-1, 0}, {-1, 1}, {0, -1}}); err != nil {
		t.Errorf("items without a class were taken for one: %v", err)
	}
}

// Rows that lack a level say nothing of the parents there.
func TestTreesMayHaveMissingLevels(t *testing.T) {
	d := rows{{0, 0}, {1, 1}}
	if err := CheckTree(d, []labels.Path{{0, 0}, {0, -1}, {-1, 1}, {0, 0}}); err != nil {
		t.Error(err)
	}
	if err := CheckTree(d, []labels.Path{{0, -1}, {0, 0}, {0, 1}}); err == nil {
		t.Error("two parents are taken, where the first row has none")
	}
}

func TestHoldOutKeepsItemsOfCoarseClasses(t *testing.T) {
	d := rows{{0, 0}, {1, 0}, {2, 1}, {-1, 0}, {-1, -1}, {0, 0}, {1, 0}, {2, 1}}
	rest, held, err := HoldOut(d, 0.4, 1)
	must.Do(t, err)
	if !slices.Contains(rest.Rows, 3) || slices.Contains(rest.Rows, 4) || slices.Contains(held.Rows, 3) ||
		rest.Len()+held.Len() != 7 {
		t.Errorf("rest %v, held %v", rest.Rows, held.Rows)
	}
}

func TestClassesAreCountedFromTheData(t *testing.T) {
	dense, counts := Renumber([]labels.Path{{70, 3}, {-1, 3}, {5, 9}, {70, 3}})
	want := []labels.Path{{1, 0}, {-1, 0}, {0, 1}, {1, 0}}
	for i := range want {
		if dense[i].Shared(want[i]) != want[i].Shared(want[i]) || dense[i][0] != want[i][0] {
			t.Errorf("row %d is %v, want %v", i, dense[i], want[i])
		}
	}
	if counts[0] != 2 || counts[1] != 2 {
		t.Errorf("counts %v", counts)
	}
}

// pathed is a data set that knows the paths of its images.
type pathed struct{ rows }

func (d pathed) Path(_ context.Context, i int) (string, error) { return "photos/" + d.ID(i), nil }

func TestPathsAreFoundInPartsOfDataSets(t *testing.T) {
	known, unknown := pathed{rows{{0}, {1}, {2}}}, rows{{0}, {1}}
	part := &Subset{Of: Join(unknown, &Subset{Of: known, Rows: []int{2, 0}}), Rows: []int{3, 1, 2}}
	for i, want := range []string{"photos/A", "", "photos/C"} {
		if got, err := Path(t.Context(), part, i); err != nil || got != want {
			t.Errorf("image %d: %q, %v; want %q", i, got, err, want)
		}
	}
}

func TestJoinedSetsKeepTheirItems(t *testing.T) {
	a, b := rows{{0, 0}, {1, 0}}, rows{{2, 1}, {3, 1}, {4, 1}}
	j := Join(a, rows{}, b)
	for i := range j.Len() {
		if j.Labels(i)[0] != int32(i) {
			t.Errorf("item %d has labels %v", i, j.Labels(i))
		}
	}
	if j.Len() != 5 || j.ID(2) != "A" || j.ID(1) != "B" {
		t.Errorf("%d items, %s, %s", j.Len(), j.ID(2), j.ID(1))
	}
}
