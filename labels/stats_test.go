package labels

import (
	"reflect"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

func TestStatsCountClassesAndReasons(t *testing.T) {
	records := []Record{
		{Landmark: 1, Split: Train, Outcome: OK, Tag: "lake"},
		{Landmark: 2, Split: Train, Outcome: OK, Tag: "lake"},
		{Landmark: 3, Split: Train, Outcome: OK, Tag: "church building"},
		{Landmark: 4, Split: Train, Outcome: OK, Tag: "organization"},
		{Landmark: 5, Split: Train, Outcome: NoInfobox, Category: categoryURL + "USS_Thresher_(SSN-593)"},
		{Landmark: 6, Split: Train, Outcome: NoInfobox},
		{Landmark: 1, Split: Index, Outcome: Failed, Error: "HTTP 404"},
	}
	table := must.Get(Build(records, hierarchyOf(t)))(t)
	images := map[LandmarkKey]int{{Train, 1}: 10, {Train, 3}: 5, {Train, 5}: 2, {Index, 1}: 1, {Index, 9}: 3}
	got := table.Stats(images)
	want := Stats{
		Splits: []SplitStats{{Train, 6, 3, 17, 15}, {Index, 1, 0, 1, 0}},
		Levels: []LevelStats{
			{"landmark", 3, 1, 1, 1, nil},
			{"supercategory", 2, 1, 1, 2, []ClassStats{{"ocean area ", "natural", 2, 10}, {"church", "human-made", 1, 5}}},
			{"kind", 2, 1, 1, 2, []ClassStats{{"natural", "", 2, 10}, {"human-made", "", 1, 5}}},
		},
		Unlabelled: []ReasonStats{
			{"no_infobox", "", 2, 2, []string{"train/5 (USS Thresher (SSN-593))", "train/6"}},
			{"tag_dropped", "no landmark", 1, 0, []string{"train/4 (organization)"}},
			{"error_final", "", 1, 1, []string{"index/1"}},
		},
	}
	want.Outside.Landmarks, want.Outside.Images = 1, 3
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestStatsCountImageRows(t *testing.T) {
	table := mustRead(t, csvTexts["images"], "train.csv")
	got := table.Stats(nil)
	if want := (SplitStats{Train, 1, 1, 2, 2}); got.Splits[0] != want {
		t.Errorf("got %+v, want %+v", got.Splits[0], want)
	}
}

func TestStatsCountBlankLabels(t *testing.T) {
	table := mustRead(t, csvTexts["published five columns"], "train.csv")
	got := table.Stats(nil).Unlabelled
	if len(got) != 1 || got[0].Reason != Blank || got[0].Examples[0] != "train/3 (town)" {
		t.Errorf("unlabelled %+v", got)
	}
}

func TestReadImageCounts(t *testing.T) {
	for name, text := range map[string]string{
		"a row an image":    "id,url,landmark_id\na,u,5\nb,u,5\nc,u,6\n",
		"a row a landmark":  "landmark_id,images\n5,a b\n6,c\n",
		"a column of split": "image_id,landmark_id,split\na,5,train\nb,5,train\nc,6,train\n",
	} {
		t.Run(name, func(t *testing.T) {
			counts, err := ReadImageCounts(strings.NewReader(text), "train_clean.csv", ReadOptions{})
			if want := (map[LandmarkKey]int{{Train, 5}: 2, {Train, 6}: 1}); err != nil || !reflect.DeepEqual(counts, want) {
				t.Errorf("%v, %v; want %v", counts, err, want)
			}
		})
	}
	for text, want := range map[string]string{
		"a,b\n":                        "train.csv:1: got a,b; want id,landmark_id (one row per image) or landmark_id,images",
		"id,landmark_id\na,x\n":        `train.csv:2: landmark_id: got "x"`,
		"id,landmark_id,split\na,1,\n": `train.csv:2: split: got ""`,
	} {
		if _, err := ReadImageCounts(strings.NewReader(text), "train.csv", ReadOptions{}); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestCompareListsEveryDifference(t *testing.T) {
	const header = "landmark_id,hierarchical_label,natural_or_human_made\n"
	a := mustRead(t, header+"1,lake,natural\n2,lake,natural\n3,zoo,human-made\n4,zoo,human-made\n5,,\n", "train_a.csv")
	b := mustRead(t, header+"1,lake,natural\n2,river,natural\n3,park,nature\n5,zoo,human-made\n6,zoo,human-made\n4,,\n",
		"train_b.csv")
	got := must.Get(Compare(a, b))(t)
	want := &Comparison{
		Both: 3, Same: 1,
		OnlyA: []LandmarkKey{{Train, 4}},
		OnlyB: []LandmarkKey{{Train, 5}, {Train, 6}},
		Levels: []LevelComparison{
			{"supercategory", 2, []SwapCount{{"lake", "river", 1}, {"zoo", "park", 1}}, []ClassCount{},
				[]ClassCount{{"park", 1}, {"river", 1}}},
			{"kind", 1, []SwapCount{{"human-made", "nature", 1}}, []ClassCount{}, []ClassCount{{"nature", 1}}},
		},
		Changes: []Change{
			{Train, 2, "supercategory", "lake", "river"},
			{Train, 3, "supercategory", "zoo", "park"},
			{Train, 3, "kind", "human-made", "nature"},
		},
	}
	if !reflect.DeepEqual(got, want) || got.Equal() {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if same, err := Compare(a, a); err != nil || !same.Equal() || same.Same != 4 {
		t.Errorf("a table compared with itself: %+v, %v", same, err)
	}
	names := mustRead(t, "landmark_id,category\n1,u\n", "train.csv")
	if _, err := Compare(a, names); err == nil || !strings.Contains(err.Error(), "no level in common") {
		t.Errorf("error %v", err)
	}
}

func TestCompareInOneIDSpaceIgnoresSplits(t *testing.T) {
	read := func(text string) *Table {
		table := must.Get(readCSV(strings.NewReader(text), "l.csv", ReadOptions{OneIDSpace: true}))(t)
		return table
	}
	c, err := Compare(read("split,landmark_id,level_0,level_1\ntrain,1,a,x\n"),
		read("split,landmark_id,level_0,level_1\ntest,1,a,y\n"))
	if err != nil || c.Both != 1 || len(c.Changes) != 1 || c.Changes[0].B != "y" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestLintFindsWhatASpreadsheetDamages(t *testing.T) {
	names := map[string]bool{}
	for _, n := range []string{"lake", "ocean area ", "neighborhood  park", "quarter of\u00a0hamburg", "1\u202f222,00",
		"Lake", "a\u200bb", "castle / fort"} {
		names[n] = true
	}
	var got []string
	for _, p := range Lint("supercategory", names) {
		if !p.Warning {
			t.Errorf("%v is an error", p)
		}
		got = append(got, p.Text)
	}
	want := []string{
		`class "1\u202f222,00" contains white space other than the plain space`,
		`class "1\u202f222,00" is a number; a count may have become a name`,
		`class "a\u200bb" contains an invisible character`,
		`classes "Lake" and "lake" differ only in case or white space`,
		`class "neighborhood  park" contains two spaces in a row`,
		`class "ocean area " begins or ends with white space`,
		`class "quarter of\u00a0hamburg" contains white space other than the plain space`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := Lint("species", map[string]bool{"1": true, "2": true}); got != nil {
		t.Errorf("a level of numbered classes: %v", got)
	}
}
