package dataset

import (
	"slices"
	"testing"

	"hgld/internal/classes"
	"hgld/internal/testing/must"
	"hgld/shards"
)

// unevenNames opens a data set and returns the class names of its items by path.
func unevenNames(t *testing.T, importer Importer, s Settings) map[string][]string {
	t.Helper()
	src := must.Get(importer.Open(t.Context(), s))(t)
	defer src.Close()
	if _, err := shards.Check(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	names := map[string][]string{}
	for item, err := range src.Items(t.Context()) {
		must.Do(t, err)
		names[item.Path] = item.Names
	}
	return names
}

// A folder of less depth lacks the finest levels.
func TestFoldersOfUnevenDepthAreKept(t *testing.T) {
	files := tree{"fruit/apple/1.jpg": "a", "fruit/pear/2.jpg": "b", "fruit/3.jpg": "c", "nuts/4.jpg": "d"}
	got := unevenNames(t, Folder{}, Settings{Input: files.folder(t), PartialLabels: classes.KeepPartial})
	for path, want := range map[string][]string{"fruit/apple/1.jpg": {"apple", "fruit"}, "fruit/3.jpg": {"", "fruit"},
		"nuts/4.jpg": {"", "nuts"}} {
		if !slices.Equal(got[path], want) {
			t.Errorf("%s is of %q, want %q", path, got[path], want)
		}
	}
}

// An empty cell is a level that the image lacks, at any depth, and not a parent.
func TestRowsThatLackLevelsAreKept(t *testing.T) {
	files := tree{"1.jpg": "a", "2.jpg": "b", "3.jpg": "c", "4.jpg": "d",
		"m.csv": "path,fine,mid,top\n1.jpg,gala,apple,fruit\n2.jpg,gala,,\n3.jpg,,,fruit\n4.jpg,nashi,,fruit\n"}
	at := files.folder(t)
	s := Settings{Input: at + "/m.csv", Levels: []string{"fine", "mid", "top"}}
	src, err := CSV{}.Open(t.Context(), s)
	must.Do(t, err)
	defer src.Close()
	_, err = shards.Check(t.Context(), src)
	wantError(t, err, "m.csv:3: top is empty; want a class at every level")
	s.PartialLabels = classes.KeepPartial
	got := unevenNames(t, CSV{}, s)
	for path, want := range map[string][]string{"1.jpg": {"gala", "apple", "fruit"}, "2.jpg": {"gala", "", ""},
		"3.jpg": {"", "", "fruit"}, "4.jpg": {"nashi", "", "fruit"}} {
		if !slices.Equal(got[path], want) {
			t.Errorf("%s is of %q, want %q", path, got[path], want)
		}
	}
	s.PartialLabels = DropPartial
	all, err := CSV{}.Open(t.Context(), s)
	must.Do(t, err)
	defer all.Close()
	for item, err := range Labelled(all).Items(t.Context()) {
		if err != nil || item.Path != "1.jpg" {
			t.Errorf("%s is left with drop, %v", item.Path, err)
		}
	}
	s.PartialLabels = RepeatPartial
	_, err = CSV{}.Open(t.Context(), s)
	wantError(t, err, "partial_labels is repeat, which is for folders")
}
