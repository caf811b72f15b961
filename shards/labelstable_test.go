package shards

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/testing/must"
	"hgld/labels"
)

// tableOf writes the card of a data set, and reads LabelsFile: a line for each row, its values in the order of the
// columns.
func tableOf(t *testing.T, dir string) (columns string, rows []string) {
	t.Helper()
	must.Do(t, WriteCard(t.Context(), dir, Card{}))
	r := parquet.NewGenericReader[any](mustOpenFile(t, filepath.Join(dir, LabelsFile)))
	defer r.Close()
	var names []string
	for _, f := range r.Schema().Fields() {
		names = append(names, f.Name())
	}
	all := make([]parquet.Row, r.NumRows())
	if n, err := r.ReadRows(all); n != len(all) {
		t.Fatalf("%d of %d rows, %v", n, len(all), err)
	}
	for _, row := range all {
		var text []string
		for _, v := range row {
			text = append(text, v.String())
		}
		rows = append(rows, strings.Join(text, " | "))
	}
	return strings.Join(names, " | "), rows
}

func TestTableOfClassesHasAllLevelsAndImages(t *testing.T) {
	src, dir := newSource(t, 90), t.TempDir()
	mustBuild(t, src, dir, small())
	columns, rows := tableOf(t, dir)
	if want := "level_0 | level_0_name | level_1 | level_1_name | images"; columns != want {
		t.Errorf("columns %s, want %s", columns, want)
	}
	// The source gives image i class 7i mod 10, of the group that is the remainder by 3, and every seventh none.
	images := map[string]int{}
	for i := range 90 {
		if i%7 != 6 {
			images[fmt.Sprintf("class %d", 7*i%10)]++
		}
	}
	fine, coarse := mustOpen(t, dir).Manifest().Levels[0].Classes, mustOpen(t, dir).Manifest().Levels[1].Classes
	var want []string
	for i, name := range fine {
		var number int
		fmt.Sscanf(name, "class %d", &number)
		group := fmt.Sprintf("group %d", number%3)
		want = append(want, fmt.Sprintf("%d | %s | %d | %s | %d", i, name, slices.Index(coarse, group), group, images[name]))
	}
	if !slices.Equal(rows, want) || len(rows) != 10 {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
	f := mustOpenFile(t, filepath.Join(dir, LabelsFile))
	text, _ := f.Lookup("huggingface")
	var footer struct {
		Info struct{ Features map[string]map[string]any }
	}
	must.Do(t, json.Unmarshal([]byte(text), &footer))
	if got := footer.Info.Features["level_1"]; got["_type"] != "ClassLabel" || len(got["names"].([]any)) != 3 {
		t.Errorf("level_1 is %v", got)
	}
}

// Two images have a group alone: one of a group that has finer classes, too, and one of a group that has none.
func TestTableOfUnevenClassesHasThoseWithoutFinerOnes(t *testing.T) {
	src, dir, o := newSource(t, 5), t.TempDir(), small()
	for i, names := range [][]string{{"oak", "tree"}, {"", "tree"}, {"", "stone"}, {"elm", "tree"}, nil} {
		src.items[i].Names, src.items[i].Partial = names, true
	}
	mustBuild(t, src, dir, o)
	_, rows := tableOf(t, dir)
	slices.Sort(rows)
	levels := mustOpen(t, dir).Manifest().Levels
	number := func(level int, name string) int { return slices.Index(levels[level].Classes, name) }
	want := []string{fmt.Sprintf("%d | oak | %d | tree | 1", number(0, "oak"), number(1, "tree")),
		fmt.Sprintf("%d | elm | %d | tree | 1", number(0, "elm"), number(1, "tree")),
		fmt.Sprintf("<null> | <null> | %d | stone | 1", number(1, "stone"))}
	slices.Sort(want)
	if !slices.Equal(rows, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}

func TestTableOfLandmarksHasARowForEach(t *testing.T) {
	src, dir := newSource(t, 4), t.TempDir()
	src.levels, src.landmarks = []string{"landmark", "supercategory", "kind"}, true
	for i, of := range []struct {
		split labels.Split
		id    labels.LandmarkID
		names []string
	}{
		{labels.Train, 7, []string{"train/7", "church", "human-made"}},
		{labels.Train, 7, []string{"train/7", "church", "human-made"}},
		{labels.Index, 7, []string{"index/7", "", ""}},
		{labels.Test, -1, nil},
	} {
		item := &src.items[i]
		item.Split, item.Landmark, item.Names = of.split, of.id, of.names
		item.Attributes.Tag, item.Attributes.WikidataQID = "parish church", fmt.Sprintf("Q%d", i)
	}
	mustBuild(t, src, dir, small())
	columns, rows := tableOf(t, dir)
	wantColumns := "split | landmark_id | hierarchical_label | hierarchical_label_name | natural_or_human_made | " +
		"natural_or_human_made_name | category_url | wikidata_qid | supercategory | label_source | images"
	if columns != wantColumns {
		t.Errorf("columns %s", columns)
	}
	slices.Sort(rows)
	want := []string{"index | 7 | <null> | <null> | <null> | <null> | <null> | Q2 | parish church | <null> | 1",
		"train | 7 | 0 | church | 0 | human-made | <null> | Q0 | parish church | <null> | 2"}
	if !slices.Equal(rows, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}

func mustOpenFile(t *testing.T, name string) *parquet.File {
	t.Helper()
	data := must.Get(os.ReadFile(name))(t)
	f := must.Get(parquet.OpenFile(bytes.NewReader(data), int64(len(data))))(t)
	return f
}
