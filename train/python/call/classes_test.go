package call_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/python/call"
)

// Cells of arrays are read as those of files: each case has the cells of the queries, those of the gallery, and the
// numbers of both or an error.
func TestCellsAreNumberedAsThoseOfFiles(t *testing.T) {
	for _, c := range []struct {
		query, gallery []string
		want           string
	}{
		{[]string{"a", "b"}, []string{"b", "c"}, "[0 1] [1 2] []"},
		{[]string{"nan", "a", "nan"}, []string{"a", " "}, `[-1 0 -1] [0 -1] [labels: 2 of 3 rows have no class at fine`},
		{[]string{"3.0", "4.0"}, []string{"4", "3"}, "[0 1] [1 0] [labels: the classes of fine are whole numbers"},
		{[]string{"Caf\u00e9", "b"}, []string{"Cafe\u0301"}, `[0 1] [0] [fine: "Café" is written in two forms of Unicode`},
		{[]string{"7", "8"}, []string{"07", "8"}, `[0 1] [2 1] [fine: "7" and "07" are two classes; if they are one`},
		{[]string{"a", "b"}, []string{"a ", "b"}, `[0 1] [2 1] [fine: "a" and "a " are two classes; if they are one`},
		{[]string{"x", "y"}, []string{"1", "2"}, "error: fine: the classes of gallery_labels are numbers (1) and"},
		{[]string{"None", "cat", "dog", ""}, []string{"cat"}, `error: labels: fine: "None" means no class in most tables`},
		{[]string{`["a", "b"]`}, []string{"a"}, `error: labels: fine is "[\"a\", \"b\"]", which is a list`},
	} {
		table := func(name string, cells []string) call.CellTable {
			counts := make([]int, len(cells))
			for i := range counts {
				counts[i] = 1
			}
			return call.CellTable{Name: name, Cells: [][]string{cells}, Counts: [][]int{counts}}
		}
		text, err := json.Marshal(call.Cells{Levels: []string{"fine"}, Tables: []call.CellTable{
			table("labels", c.query), table("gallery_labels", c.gallery)}})
		must.Do(t, err)
		got := ""
		if of, err := call.Number(text); err != nil {
			got = "error: " + err.Error()
		} else {
			got = fmt.Sprint(of.Numbers[0][0], of.Numbers[1][0], of.Notes)
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%q, %q: %s, want %s", c.query, c.gallery, got, c.want)
		}
	}
}

// Queries that are rows of the gallery are left out of their own rankings, as those of files are.
func TestQueriesAmongTheGalleryAreFound(t *testing.T) {
	side := &call.Side{Vectors: vectors(5), Classes: paths()}
	spec := []byte(`{"levels": ["fine", "coarse"], "metrics": ["AP"]}`)
	want, err := call.Evaluate(context.Background(), backend, spec, side, new(call.Side), nil)
	must.Do(t, err)
	got, err := call.Evaluate(context.Background(), backend, spec, side, side, nil)
	if err != nil || got.Mean("AP_level0") != want.Mean("AP_level0") || len(got.Notes) != 1 {
		t.Errorf("%v, %+v, want %v", err, got, want.Mean("AP_level0"))
	}
	others := make([]int32, side.Vectors.Rows)
	for i := range others {
		others[i] = -1
	}
	apart, err := call.Evaluate(context.Background(), backend, spec, side, side, others)
	if err != nil || apart.Mean("AP_level0") <= want.Mean("AP_level0") || len(apart.Notes) != 0 {
		t.Errorf("%v, %+v, want more than %v", err, apart, want.Mean("AP_level0"))
	}
}

func TestSidesWithoutACommonClassAreRefused(t *testing.T) {
	query, gallery := &call.Side{Vectors: vectors(5), Classes: paths()}, &call.Side{Vectors: vectors(6), Classes: paths()}
	for i := range gallery.Classes {
		gallery.Classes[i] += 100
	}
	spec := []byte(`{"levels": ["fine", "coarse"], "examples": ["a", "a "]}`)
	_, err := call.Evaluate(context.Background(), backend, spec, query, gallery, nil)
	if err == nil || !strings.Contains(err.Error(), `the first fine is "a" and "a "; spell equal classes alike`) {
		t.Errorf("error %v", err)
	}
}

func TestAnotherOrderOfLevelsIsProposed(t *testing.T) {
	side := &call.Side{Vectors: vectors(5), Classes: paths()}
	for i := 0; i < len(side.Classes); i += 2 {
		side.Classes[i], side.Classes[i+1] = side.Classes[i+1], side.Classes[i]
	}
	_, err := call.Evaluate(context.Background(), backend, []byte(`{"levels": ["a", "b"]}`), side, new(call.Side), nil)
	if err == nil || !strings.HasSuffix(err.Error(), "the levels are a, b, want the finest first: b, a form a tree") {
		t.Errorf("error %v", err)
	}
}
