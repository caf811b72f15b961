package curate

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// compareJSON compares the JSON form of v with the expected fields. Numbers may differ by a relative
// 1e-12; standard errors and intervals, which the reference computes differently, by 1e-9.
func compareJSON(t *testing.T, v any, expected map[string]any, names map[string]string) {
	t.Helper()
	data := must.Get(json.Marshal(v))(t)
	var got map[string]any
	must.Do(t, json.Unmarshal(data, &got))
	if len(expected) == 0 {
		t.Fatal("nothing is expected")
	}
	for key, want := range expected {
		ours := key
		if n, renamed := names[key]; renamed {
			ours = n
		}
		g, there := got[ours]
		if !there {
			t.Errorf("%s is not among the figures", key)
			continue
		}
		same(t, key, g, want)
	}
}

func same(t *testing.T, key string, got, want any) {
	t.Helper()
	switch want := want.(type) {
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			t.Errorf("%s = %v, want %v", key, got, want)
			return
		}
		for i := range want {
			same(t, key, list[i], want[i])
		}
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			t.Errorf("%s = %v, want %v", key, got, want)
			return
		}
		for k, w := range want {
			same(t, key+"."+k, object[k], w)
		}
	case float64:
		tolerance := 1e-12
		switch key {
		case "kappa_se", "kappa_ci95", "kappa_se_simple", "kappa_ci95_simple", "ac1_se", "ac1_ci95_normal":
			tolerance = 1e-9
		}
		if g, ok := got.(float64); !ok || !(math.Abs(g-want) <= tolerance*max(1, math.Abs(want))) {
			t.Errorf("%s = %v, want %v", key, got, want)
		}
	case nil:
		if got != nil {
			t.Errorf("%s = %v, want null", key, got)
		}
	default:
		t.Errorf("%s: cannot compare with %v", key, want)
	}
}

func TestGoldenAgreement(t *testing.T) {
	var file struct {
		Two []struct {
			Name     string
			Table    [][]int
			Parent   []int `json:"parent_of_category"`
			Expected map[string]any
		} `json:"two_annotators"`
		Many []struct {
			Name     string
			Counts   [][]int
			Expected map[string]any
		} `json:"many_annotators"`
		Missing []struct {
			Name     string
			Ratings  [][]*int
			Expected map[string]any
		} `json:"missing_ratings"`
	}
	goldens.ReadJSON(t, filepath.Join(goldens.Dir(t, "agreement"), "agreement.json"), &file)
	for _, c := range file.Two {
		t.Run("agreement/"+c.Name, func(t *testing.T) {
			compareJSON(t, Agree(c.Table, c.Parent), c.Expected, nil)
		})
	}
	for _, c := range file.Many {
		t.Run("agreement/"+c.Name, func(t *testing.T) {
			compareJSON(t, AgreeMany(c.Counts), c.Expected, nil)
		})
	}
	for _, c := range file.Missing {
		t.Run("agreement/"+c.Name, func(t *testing.T) {
			ratings := make([][]int, len(c.Ratings))
			categories := 0
			for a, of := range c.Ratings {
				for _, r := range of {
					rating := -1
					if r != nil {
						rating = *r
						categories = max(categories, rating+1)
					}
					ratings[a] = append(ratings[a], rating)
				}
			}
			compareJSON(t, AgreeMany(Counts(ratings, categories)), c.Expected,
				map[string]string{"items_that_count": "items", "ratings_that_count": "ratings"})
		})
	}
}

// The interval has no width if two annotators agree on everything, even if the shares are not
// exact binary fractions.
func TestPerfectAgreementHasZeroStandardError(t *testing.T) {
	for n := 2; n < 60; n++ {
		table := [][]int{{n, 0, 0, 0}, {0, 2*n + 1, 0, 0}, {0, 0, 3, 0}, {0, 0, 0, 0}}
		g := Agree(table, []int{0, 0, 1, 1})
		if *g.Kappa != 1 || *g.KappaSE != 0 || *g.KappaSESimple != 0 || *g.AC1 != 1 || *g.AC1SE != 0 || *g.Alpha != 1 ||
			*g.WeightedKappa != 1 {
			t.Errorf("%v: kappa %v ± %v, AC1 %v ± %v", table, *g.Kappa, *g.KappaSE, *g.AC1, *g.AC1SE)
		}
	}
}

// Of nine items, one is apart: kappa 0.76 with a standard error of 0.23 would reach 1.20.
func TestIntervalsOfAgreementStayWithinItsRange(t *testing.T) {
	g := Agree([][]int{{5, 1}, {0, 3}}, nil)
	if *g.Kappa+1.96**g.KappaSE <= 1 || g.KappaCI[1] != 1 || g.AC1CI[1] != 1 || g.KappaCI[0] >= *g.Kappa {
		t.Errorf("kappa %v ± %v: %v; AC1 %v", *g.Kappa, *g.KappaSE, *g.KappaCI, *g.AC1CI)
	}
}

func TestAgreementWithoutItemsIsUndefined(t *testing.T) {
	for _, table := range [][][]int{{}, {{0}}, {{0, 0}, {0, 0}}} {
		g := Agree(table, nil)
		if g.Raw != nil || g.Kappa != nil || g.KappaCI != nil || g.AC1 != nil || g.Alpha != nil {
			t.Errorf("table %v: %+v, want nothing defined", table, g)
		}
	}
	if g := Agree([][]int{{3}}, []int{0}); g.Raw == nil || *g.Raw != 1 || g.Kappa != nil || g.AC1 != nil ||
		g.WeightedKappa != nil {
		t.Errorf("one category: %+v, want raw agreement alone", g)
	}
	if g := AgreeMany([][]int{{1, 0}, {0, 0}}); g.Items != 0 || g.Raw != nil || g.Alpha != nil {
		t.Errorf("no item with two ratings: %+v, want nothing defined", g)
	}
	if _, err := json.Marshal(Agree([][]int{{1, 0}, {0, 0}}, nil)); err != nil {
		t.Errorf("one item: %v", err)
	}
}
