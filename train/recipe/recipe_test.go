package recipe

import (
	"math"
	"strings"
	"testing"
)

func TestEveryRecipeNamesRowsThatExist(t *testing.T) {
	list, err := All()
	if err != nil {
		t.Fatal(err)
	}
	tables, err := Published()
	if err != nil {
		t.Fatal(err)
	}
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
	// The authors' own rows without a recipe belong to an ablation. Its first row repeats
	// another table, and each of the others changes one setting of it.
	without := map[string]bool{"all": true, "without memory": true, "without margin": true}
	for _, table := range tables.Tables {
		for _, row := range table.Rows {
			for part := range row.Values {
				p := Place{table.Name, row.Method, part}
				if row.Run == "own" && !named[p] && !without[row.Method] {
					t.Errorf("no recipe for %+v", p)
				}
			}
		}
	}
}

func TestTablesHaveANumberForEveryColumn(t *testing.T) {
	tables, err := Published()
	if err != nil {
		t.Fatal(err)
	}
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
					if n.Value < 5 || n.Value > 100 {
						t.Errorf("table %s, %s, %s: %s is %v", table.Name, row.Method, part, n.Key, n.Value)
					}
				}
			}
		}
	}
}

func TestAMissingNumberIsNaN(t *testing.T) {
	tables, err := Published()
	if err != nil {
		t.Fatal(err)
	}
	_, numbers, err := tables.Find(Place{"VIII", "CLCD-ICR", "dyml-animal"})
	if err != nil || len(numbers) != 3 || numbers[0] != (Number{"mean(AP)", 35.7}) || !math.IsNaN(numbers[2].Value) {
		t.Errorf("%v, %v", numbers, err)
	}
	if _, _, err := tables.Find(Place{"VIII", "HAPPIER", "sop"}); err == nil {
		t.Error("a part that the table does not have was found")
	}
}

func TestAnUnknownRecipeNamesTheNearest(t *testing.T) {
	_, err := Get("sop/hapier")
	if err == nil || !strings.Contains(err.Error(), `did you mean "sop/happier"`) {
		t.Error(err)
	}
	if r, err := Get("sop/happier"); err != nil || r.Rows[0] != (Place{"V", "HAPPIER", "sop"}) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAHeadMustBeComplete(t *testing.T) {
	for _, text := range []string{"hgld: 1\n", "# about: x\nhgld: 1\n", "# about: x\n# row: []\nhgld: 1\n"} {
		if _, err := parse("x/y", text); err == nil {
			t.Errorf("%q was read as a recipe", text)
		}
	}
}
