package labels

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// madeRecords are records with every kind of reason, in no order, and a text that fills a block.
func madeRecords() []Record {
	return []Record{
		{Landmark: 5, Split: Index, Outcome: OK, Tag: "lake", Category: categoryURL + "Léman", Item: "Q6"},
		{Landmark: 9, Split: Train, Outcome: OK, Tag: "church building", Raw: "church  building", Category: "u"},
		{Landmark: 5, Split: Train, Outcome: OK, Tag: "organization"},
		{Landmark: 6, Split: Train, Outcome: OK, Tag: "ocean", Category: categoryURL},
		{Landmark: 7, Split: Train, Outcome: OK, Tag: "moon", Category: categoryURL + strings.Repeat("x", textBlock-100)},
		{Landmark: 8, Split: Train, Outcome: Malformed, Error: "no HTML", Item: "Q1"},
		{Landmark: 4, Split: Train, Outcome: OK, Tag: "lake", Raw: "lake", Item: "Q2"},
	}
}

func passed(records []Record) func(func(*Record)) error {
	return func(use func(*Record)) error {
		for i := range records {
			rec := records[i]
			use(&rec)
			rec = Record{} // as a reader reuses it
		}
		return nil
	}
}

// What is made of records one by one is what a list gives.
func TestRowsThatAreMadeEqualThoseOfAList(t *testing.T) {
	h := hierarchyOf(t)
	list := must.Get(Build(madeRecords(), h))(t)
	made := must.Get(BuildFrom(passed(madeRecords()), h))(t)
	text := func(table *Table) string {
		var b bytes.Buffer
		for _, form := range Forms[:5] {
			for _, part := range append(table.BySplit("{split}.csv"), table.Labelled().BySplit("all.csv")...) {
				fmt.Fprintln(&b, part.Path, form, part.Table.Len(), part.Table.Splits())
				must.Do(t, part.Table.Write(&b, form))
			}
		}
		must.Do(t, WriteTable(&b, table))
		must.Do(t, WriteUnlabelled(&b, table))
		further := []ExtraParent{{Level: "tag", Class: "lake", Parent: "p"}, {Level: "kind", Class: "a", Parent: "b"}}
		fmt.Fprintln(&b, table.LandmarkParents("tag", further))
		return b.String()
	}
	if got, want := text(made), text(list); got != want {
		t.Errorf("made %.2000s\nlist %.2000s", got, want)
	}
	if got, want := made.Stats(nil), list.Stats(nil); !reflect.DeepEqual(got, want) {
		t.Errorf("made %+v, list %+v", got, want)
	}
}

func TestRecordsThatCannotBeLabelledAreRefused(t *testing.T) {
	twice := append(madeRecords(), madeRecords()[0])
	if _, err := BuildFrom(passed(twice), hierarchyOf(t)); err == nil ||
		err.Error() != "index landmark 5 occurs twice" {
		t.Errorf("error %v", err)
	}
	h := &Hierarchy{Levels: []Level{{Name: "tag", Classes: []Class{{Name: "lake", Parent: 0}}},
		{Name: "supercategory", Classes: []Class{{Name: "water", Parent: -1}}}, {Name: "kind"}}}
	if _, err := BuildFrom(passed(madeRecords()[6:]), h); err == nil ||
		!strings.Contains(err.Error(), "train/4: kind is empty") {
		t.Errorf("error %v", err)
	}
}

// 30 million landmarks must fit into memory.
func TestALandmarkTakesFewBytes(t *testing.T) {
	const n = 50_000
	records := func(use func(*Record)) error {
		for i := range n {
			use(&Record{Landmark: LandmarkID(i), Split: Train, Outcome: OK, Tag: "lake", Raw: "lake",
				Category: fmt.Sprintf("%sA_lake_with_a_name_of_usual_length_%d", categoryURL, i), Item: fmt.Sprintf("Q%d", i+1e7),
				About: &About{LocatedIn: []string{fmt.Sprintf("Q%d", 1+i%100)}}})
		}
		return nil
	}
	towns := []Item{{ID: "Q1000", Label: "Land", ISO: "DE"}}
	for i := range 100 {
		towns = append(towns, Item{ID: fmt.Sprintf("Q%d", 1+i), Label: "Town", Country: []string{"Q1000"}})
	}
	h, items := hierarchyOf(t), NewItems(towns)
	for tree, build := range map[string]func() (*Table, error){
		"semantic":   func() (*Table, error) { return BuildFrom(records, h) },
		"geographic": func() (*Table, error) { return BuildPlaces(records, items) },
	} {
		before := heldBytes()
		table := must.Get(build())(t)
		if each := (heldBytes() - before) / n; each > 150 {
			t.Errorf("%s: %d bytes for a landmark, want at most 150", tree, each)
		}
		if got := table.Labelled().Len(); got != n {
			t.Errorf("%s: %d rows", tree, got)
		}
		for _, form := range []Form{HierarchicalForm, LevelsForm, JSONForm} {
			w := &watching{}
			if form == HierarchicalForm && len(table.Levels) != 3 {
				continue
			}
			must.Do(t, table.Write(w, form))
			if each := (w.held - before) / n; each > 150 {
				t.Errorf("%s as %s: %d bytes for a landmark while it is written, want at most 150", tree, form, each)
			}
		}
	}
}

// heldBytes returns how much memory is in use.
func heldBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // pools of earlier tests are emptied by the second
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// watching takes texts and knows how much memory was in use meanwhile.
type watching struct {
	writes int
	held   int64
}

func (w *watching) Write(text []byte) (int, error) {
	if w.writes%500 == 0 {
		w.held = max(w.held, heldBytes())
	}
	w.writes++
	return len(text), nil
}

// A landmark that occurs twice is found in a file in order and in one out of order.
func TestLandmarksThatOccurTwiceAreNamedWithTheirLines(t *testing.T) {
	for ids, want := range map[string]string{
		"1 2 3 3": "t:5: train landmark 3 is already in line 4", "2 1 3 2": "t:5: train landmark 2 is already in line 2",
		"1 2 1": "t:4: train landmark 1 is already in line 2", "5 3 4 3": "t:5: train landmark 3 is already in line 3",
		"3 2 1": "",
	} {
		text := "{\"hgld_tags\":1}\n"
		for _, id := range strings.Fields(ids) {
			text += `{"landmark_id":` + id + `,"split":"train","outcome":"no_tag"}` + "\n"
		}
		_, _, err := ReadTags(strings.NewReader(text), "t")
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: error %v, want %s", ids, err, want)
		}
	}
}
