package train

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hgld/labels"
	"hgld/train/input"
)

// Place 5 is of form 1 and, by the list, of form 3. The paths of a row stand side by side, that of the tree first, and
// a row with one path repeats it.
func TestRowsOfABatchHoldAllPaths(t *testing.T) {
	_, d := tiny(1)
	full := pathsOf(d)
	dense, _ := input.Renumber(full)
	also := func(place, form int) labels.FurtherParent {
		return labels.FurtherParent{Level: "place", Class: fmt.Sprint("place ", place), Parent: d.Classes(1)[form],
			Where: "also.csv:2"}
	}
	data := Data{Train: d, Further: []labels.FurtherParent{also(5, 3)}}
	wide, paths, err := data.wide(full, dense)
	if err != nil || paths != 2 {
		t.Fatal(paths, err)
	}
	for i, p := range full {
		want := []int32{p[0], p[1], p[0], p[1]}
		if p[0] == 5 {
			want = []int32{5, 1, 5, 3}
		}
		if !slices.Equal(wide[i], want) {
			t.Fatalf("item %d: %v, want %v", i, wide[i], want)
		}
	}
	// A form that no item has, behind the others, and its number.
	data.Further = []labels.FurtherParent{{Level: "place", Class: "place 0", Parent: "river"}}
	if wide, _, err = data.wide(full, dense); err != nil || !slices.Equal(wide[0], []int32{0, 0, 0, 4}) {
		t.Errorf("%v, %v", wide[0], err)
	}
	for i := range mostPaths {
		data.Further = append(data.Further, labels.FurtherParent{Level: "place", Class: "place 0", Parent: fmt.Sprint(i)})
	}
	_, _, err = data.wide(full, dense)
	if err == nil || !strings.Contains(err.Error(), `give the place "place 0" 10 paths, want at most 8`) {
		t.Error(err)
	}
	if data.Further = nil; data.furtherPrint() != "" {
		t.Error("no further parents have a fingerprint")
	}
	data.Further = []labels.FurtherParent{also(5, 3), also(6, 2), also(5, 3)}
	before := data.furtherPrint()
	if data.Further = []labels.FurtherParent{also(6, 2), also(5, 3)}; data.furtherPrint() != before {
		t.Error("the order or a repetition changes the fingerprint")
	}
	if data.Further[1] = also(5, 2); data.furtherPrint() == before {
		t.Error("another parent does not change the fingerprint")
	}
}
