package labels

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

func hierarchyOf(t *testing.T) *Hierarchy {
	t.Helper()
	h := must.Get(ReadHierarchy(strings.NewReader(hierarchyText), "hierarchy.json"))(t)
	return h
}

func TestBuildLabelsOrExplainsEveryLandmark(t *testing.T) {
	records := []Record{
		{Landmark: 5, Split: Index, Outcome: OK, Tag: "lake", Category: "u"},
		{Landmark: 9, Split: Train, Outcome: OK, Tag: "church building"},
		{Landmark: 5, Split: Train, Outcome: OK, Tag: "organization"},
		{Landmark: 6, Split: Train, Outcome: OK, Tag: "ocean"},
		{Landmark: 7, Split: Train, Outcome: OK, Tag: "moon"},
		{Landmark: 8, Split: Train, Outcome: Malformed, Error: "no HTML"},
	}
	table := must.Get(Build(records, hierarchyOf(t)))(t)
	var got []string
	for i := range table.Rows {
		l := &table.Rows[i]
		got = append(got, strings.Join(l.Names, "|")+" "+string(l.Reason)+" "+l.Detail)
	}
	want := []string{
		"train/5|| tag_dropped no landmark",
		"train/6|| tag_unassigned ",
		"train/7|| tag_unknown ",
		"train/8|| malformed no HTML",
		"train/9|church|human-made  ",
		"index/5|ocean area |natural  ",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if h := table.Hierarchy; h.Check() != nil || len(h.Unassigned()) != 4 || len(h.Levels[1].Classes) != 2 {
		t.Errorf("hierarchy %+v, %v", h, h.Check())
	}
	if got := mustWrite(t, table.Labelled(), HierarchicalForm); got != "landmark_id,category,supercategory,"+
		"hierarchical_label,natural_or_human_made,split\n9,,church building,church,human-made,train\n"+
		"5,u,lake,ocean area ,natural,index\n" {
		t.Errorf("written %s", got)
	}
	var b strings.Builder
	must.Do(t, WriteUnlabelled(&b, table))
	if b.String() != "split,landmark_id,category,tag,reason,detail\ntrain,5,,organization,tag_dropped,no "+
		"landmark\ntrain,6,,ocean,tag_unassigned,\ntrain,7,,moon,tag_unknown,\ntrain,8,,,malformed,no HTML\n" {
		t.Errorf("unlabelled %s", b.String())
	}
	if _, err := Build(append(records, records[0]), hierarchyOf(t)); err == nil ||
		!strings.Contains(err.Error(), "index landmark 5 occurs twice") {
		t.Errorf("error %v for a landmark with two records", err)
	}
	if _, err := Build(records, &Hierarchy{Levels: []Level{{Name: "tag"}}}); err == nil ||
		!strings.Contains(err.Error(), `has only the level "tag"`) {
		t.Errorf("error %v for a hierarchy of one level", err)
	}
}

func TestTrainLandmarksAreNotJoinedWithIndexLabels(t *testing.T) {
	const text = "landmark_id,hierarchical_label,natural_or_human_made\n5,lake,natural\n"
	index := mustRead(t, text, "index_label_to_hierarchical.csv")
	_, err := index.Join(Train)
	var wrong *SplitError
	if !errors.As(err, &wrong) {
		t.Fatalf("error %v, want a *SplitError", err)
	}
	for _, part := range []string{"index_label_to_hierarchical.csv has landmarks of split [index] and cannot be " +
		"joined " +
		"with split train", "train 5 and index 5 are different places", "use the label file of split train"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
	j := must.Get(index.Join(Index))(t)
	if l, ok := j.Label(5); !ok || l.Names[1] != "lake" {
		t.Errorf("index 5 is %+v", l)
	}
	if _, ok := j.Label(6); ok {
		t.Error("index 6 has a label")
	}
	train := mustRead(t, text, "train_label_to_hierarchical.csv")
	if _, err := Compare(train, index); !errors.As(err, &wrong) {
		t.Errorf("Compare: error %v, want a *SplitError", err)
	}
	if _, err := train.Fill(index); !errors.As(err, &wrong) {
		t.Errorf("Fill: error %v, want a *SplitError", err)
	}
	if _, err := index.Join("Train"); err == nil || errors.As(err, &wrong) {
		t.Errorf("unknown split: error %v", err)
	}
}

func TestJoinTakesTheRowsOfTheSplitAskedFor(t *testing.T) {
	both := mustRead(t, "landmark_id,split,hierarchical_label,natural_or_human_made\n5,train,lake,natural\n"+
		"5,index,zoo,human-made\n", "l.csv")
	for split, want := range map[Split]string{Train: "lake", Index: "zoo"} {
		j := must.Get(both.Join(split))(t)
		if l, _ := j.Label(5); l.Names[1] != want {
			t.Errorf("%s 5 is %s, want %s", split, l.Names[1], want)
		}
	}
}

func TestOneIDSpaceJoinsAcrossSplits(t *testing.T) {
	const rows = "landmark_id,split,level_0,level_1\n5,train,a,x\n"
	table, err := readCSV(strings.NewReader(rows+"5,test,a,x\n"), "l.csv", ReadOptions{OneIDSpace: true})
	must.Do(t, err)
	j, err := table.Join(Query)
	must.Do(t, err)
	if l, ok := j.Label(5); !ok || l.Names[0] != "a" {
		t.Errorf("landmark 5 is %+v", l)
	}
	table, err = readCSV(strings.NewReader(rows+"5,test,b,x\n"), "l.csv", ReadOptions{OneIDSpace: true})
	must.Do(t, err)
	if _, err := table.Join(Query); err == nil || !strings.Contains(err.Error(), `l.csv:3: landmark 5 is ["b" "x"], but ["a" "x"] at l.csv:2; want one label per landmark`) {
		t.Errorf("error %v", err)
	}
}

func TestLevelsWithoutIDsShareOneIDSpace(t *testing.T) {
	table := mustRead(t, "split,level_0,level_1\ntrain,a,x\ntest,b,x\ntest,a,x\n", "l.csv")
	if !table.OneIDSpace || table.Rows[0].Landmark != 0 || table.Rows[1].Landmark != 1 || table.Rows[2].Landmark != 0 {
		t.Errorf("one id space %v, rows %+v", table.OneIDSpace, table.Rows)
	}
	again, err := Read(strings.NewReader(mustWrite(t, table, JSONForm)), "labels.json", ReadOptions{})
	if err != nil || len(again.Rows) != 3 || !again.OneIDSpace {
		t.Errorf("labels.json: %+v, %v", again, err)
	}
}

func TestFillTakesCategoriesOfTheSameSplit(t *testing.T) {
	table := mustRead(t, "landmark_id,hierarchical_label,natural_or_human_made\n5,lake,natural\n6,lake,natural\n",
		"train.csv")
	from := mustRead(t, "landmark_id,category,supercategory\n5,u,reservoir\n7,v,x\n", "train_label_to_category.csv")
	n, err := table.Fill(from)
	if err != nil || n != 1 {
		t.Fatalf("%d rows changed, %v; want 1", n, err)
	}
	const want = "landmark_id,category,supercategory,hierarchical_label,natural_or_human_made\n" +
		"5,u,reservoir,lake,natural\n6,,,lake,natural\n"
	if got := mustWrite(t, table, HierarchicalForm); got != want {
		t.Errorf("written\n%s\nwant\n%s", got, want)
	}
}

func TestConflictsListsEveryClassWithTwoParents(t *testing.T) {
	const text = "landmark_id,hierarchical_label,natural_or_human_made\n" +
		"1,lake,natural\n2,lake,human-made\n3,lake,human-made\n4,zoo,human-made\n5,zoo,natural\n6,zoo,\n7,,\n"
	table := must.Get(ParseCSV(strings.NewReader(text), "train.csv", ReadOptions{}))(t)
	var got []string
	for _, p := range table.Check() {
		got = append(got, p.String())
	}
	want := []string{
		`train.csv: error: supercategory "lake" has two parents: "natural" (train.csv:2) and "human-made" (train.csv:3); a hierarchy is a tree, so give one of them another name or parent`,
		`train.csv: error: supercategory "zoo" has two parents: "human-made" (train.csv:5) and "natural" (train.csv:6); a hierarchy is a tree, so give one of them another name or parent`,
		`train.csv:7: error: kind is empty; want a class at every level, or at none above the finest`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("problems\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestProblemOfFindsThePlaceInTheText(t *testing.T) {
	for text, want := range map[string]Problem{
		"a.csv:17: 4 fields":  {false, "a.csv:17", "4 fields"},
		"a.csv: no levels":    {false, "a.csv", "no levels"},
		"class x at a.csv:17": {false, "a.csv", "class x at a.csv:17"},
		"a.csvx: y":           {false, "a.csv", "a.csvx: y"},
	} {
		if got := ProblemOf("a.csv", errors.New(text)); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func TestLabelsJSONRoundTripKeepsEveryField(t *testing.T) {
	const text = `{
  "hgld_labels": 1,
  "levels": ["species","genus"],
  "rows": [
    {"split":"train","landmark_id":5,"image_id":"0a","names":["a","x"],"source":"scraped","seen":1},
    {"split":"train","landmark_id":6,"names":["b",""],"reason":"tag_dropped","detail":"no landmark"}
  ],
  "one_id_space": true,
  "tool": "x"
}
`
	table := must.Get(Read(strings.NewReader(text), "labels.json", ReadOptions{Split: Train}))(t)
	if got := mustWrite(t, table, JSONForm); got != text {
		t.Errorf("written\n%s\nwant\n%s", got, text)
	}
	if got := strings.Join(table.Hierarchy.Names(table.Rows[0].Path), "|"); got != "a|x" {
		t.Errorf("path %s", got)
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"byte order":  {"{\n  \"hgld_labels\"", "\ufeff{\n  \"hgld_labels\"", "l:1: begins with a byte order mark"},
		"newer":       {`"hgld_labels": 1`, `"hgld_labels": 2`, `l:2: format version 2 of hgld_labels is not supported; this hgld reads versions up to 1`},
		"names":       {`["a","x"]`, `["a"]`, `l: train/5: 1 names, want one for each of the 2 levels`},
		"split":       {`"split":"train","landmark_id":5`, `"split":"x","landmark_id":5`, `l:5: "x" landmark 5: want an id from 0 up and a split of`},
		"other split": {`"split":"train","landmark_id":5`, `"split":"test","landmark_id":5`, `l: test/5: split is test, but train was asked for`},
		"no id":       {`"landmark_id":5,`, ``, `l:5: field "landmark_id" is missing`},
		"two parents": {`["b",""]`, `["a","y"]`, `species "a" has two parents: "x" (l: train/5) and "y" (l: train/6)`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(strings.NewReader(edit(t, text, c.old, c.new)), "l", ReadOptions{Split: Train})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"hgld_labels":1,"levels":["a","b"],"rows":[{"split":"train","landmark_id":5,"names":["a","x"]}]}`))
	f.Add([]byte(`{"hgld_labels":1,"levels":["level_0"],"rows":[],"one_id_space":true}`))
	f.Add([]byte(csvTexts["levels"]))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := Read(bytes.NewReader(data), "train.csv", ReadOptions{})
		if err != nil {
			return
		}
		table.Stats(nil)
		table.Check()
		once := mustWrite(t, table, JSONForm)
		again, err := Read(strings.NewReader(once), "train.json", ReadOptions{})
		if err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, once)
		}
		if twice := mustWrite(t, again, JSONForm); twice != once {
			t.Fatalf("written again\n%s\nwas\n%s", twice, once)
		}
	})
}
