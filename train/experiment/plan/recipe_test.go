package plan

import (
	"math"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

func TestEveryRecipeNamesRowsThatExist(t *testing.T) {
	list, err := Recipes()
	must.Do(t, err)
	tables, err := Published()
	must.Do(t, err)
	named := map[Place]bool{}
	for _, r := range list {
		for _, place := range r.Rows {
			named[place] = true
			if _, _, err := tables.Find(place); err != nil {
				t.Errorf("%s: %v", r.Name, err)
			}
		}
		if !strings.Contains(r.Text, "preset: released") {
			t.Errorf("%s does not follow the released code in its loss", r.Name)
		}
	}
	// Detection and times are outside of a recipe.
	unrepeated := map[string]bool{"rambo-5": true, "rambo-6": true, "rambo-8": true, "smooth-ap-S2": true}
	for _, table := range tables.Tables {
		for _, row := range table.Rows {
			for part := range row.Values {
				p := Place{table.Name, row.Method, part}
				if row.Run == "own" && !named[p] && !unrepeated[table.Name] {
					t.Errorf("no recipe for %+v", p)
				}
			}
		}
	}
}

// Names of losses have the papers' spelling; what one recipe alone is called is not the name of all.
func TestMethodsHaveTheNamesOfThePapers(t *testing.T) {
	for name, want := range map[string]string{
		"sup-ap": "Sup-AP", "roadmap": "ROADMAP", "happier-f": "HAPPIER_F", "loss=csl": "CSL", "triplet": "TL_SH",
		"nca-pp": "NCA++", "sup-h-ap": "Sup-H-AP", "softbin-ap": "SoftBin-AP", "smooth-recall": "Smooth-R@k",
		"rambo-log": "RaMBO log", "smooth-h-ap": "smooth-h-ap", "sop": "sop", "α = 1": "α = 1",
	} {
		if got := MethodOf(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestTablesHaveANumberForEveryColumn(t *testing.T) {
	tables, err := Published()
	must.Do(t, err)
	for _, table := range tables.Tables {
		if tables.Papers[table.Paper] == "" {
			t.Errorf("table %s is of the paper %q, which is not listed", table.Name, table.Paper)
		}
		for _, row := range table.Rows {
			for part := range row.Values {
				_, numbers, err := tables.Find(Place{table.Name, row.Method, part})
				if err != nil {
					t.Error(err)
				}
				for _, n := range numbers {
					if table.Unit == "" && (n.Value < 5 || n.Value > 100) || n.Value <= 0 {
						t.Errorf("table %s, %s, %s: %s is %v", table.Name, row.Method, part, n.Key, n.Value)
					}
				}
			}
		}
	}
}

// The values are those of RaMBO's tables 4, 5, 6 and 8 and of table S2 of Smooth-AP.
func TestTablesWithoutARecipeAreQuoted(t *testing.T) {
	tables, err := Published()
	must.Do(t, err)
	for _, c := range []struct {
		place Place
		want  []float64
	}{
		{Place{"rambo-4", "ABE-8", "inshop"}, []float64{87.3, 96.7, 97.9, 98.2, 98.7}},
		{Place{"rambo-4", "FastAP (PyTorch)", "inshop"}, []float64{83.8, 95.5, 96.9, 97.5, 98.2}},
		{Place{"rambo-5", "RaMBO, ResNet-50, 07", "voc"}, []float64{75.7}},
		{Place{"rambo-6", "GPU", "scores"}, []float64{1.3, 7, 61, 620}},
		{Place{"rambo-8", "λ 0.5, without margin", "voc"}, []float64{74.6}},
		{Place{"smooth-ap-S2", "Smooth-AP", "sop"}, []float64{705, 6.6}},
	} {
		_, numbers, err := tables.Find(c.place)
		if err != nil || len(numbers) != len(c.want) {
			t.Errorf("%+v: %v, %v", c.place, numbers, err)
			continue
		}
		for i, n := range numbers {
			if n.Value != c.want[i] {
				t.Errorf("%+v: %s is %v, want %v", c.place, n.Key, n.Value, c.want[i])
			}
		}
	}
}

func TestAMissingNumberIsNaN(t *testing.T) {
	tables, err := Published()
	must.Do(t, err)
	_, numbers, err := tables.Find(Place{"VIII", "CLCD-ICR", "dyml-animal"})
	if err != nil || len(numbers) != 3 || numbers[0] != (Number{"mean(AP)", 35.7}) || !math.IsNaN(numbers[2].Value) {
		t.Errorf("%v, %v", numbers, err)
	}
	if _, _, err := tables.Find(Place{"VIII", "HAPPIER", "sop"}); err == nil {
		t.Error("a part that the table does not have was found")
	}
}

func TestAnUnknownRecipeNamesTheNearest(t *testing.T) {
	_, err := GetRecipe("sop/hapier")
	if err == nil || !strings.Contains(err.Error(), `did you mean "sop/happier"`) {
		t.Error(err)
	}
	if r, err := GetRecipe("sop/happier"); err != nil || r.Rows[0] != (Place{"V", "HAPPIER", "sop"}) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAHeadMustBeComplete(t *testing.T) {
	for _, text := range []string{"hgld: 1\n", "# about: x\nhgld: 1\n", "# about: x\n# row: []\nhgld: 1\n"} {
		if _, err := parseRecipe("x/y", "x/y.yaml", []byte(text)); err == nil {
			t.Errorf("%q was read as a recipe", text)
		}
	}
}
