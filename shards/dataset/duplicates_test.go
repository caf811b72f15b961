package dataset

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/shards"
)

// Images that the test shares with the training, or one class with another, are counted, whatever
// their names.
func TestEqualBytesAreCounted(t *testing.T) {
	p := func(n int) string { return string(picture(t, n)) }
	files := tree{"train/apple/1.jpg": p(1), "train/apple/2.jpg": p(2), "train/pear/3.jpg": p(3),
		"train/pear/again.jpg": p(3), // in its class
		"test/apple/8.jpg":     p(1), "test/pear/9.jpg": p(9),
		"query/plum/10.jpg": p(2), "query/plum/11.jpg": p(11), "gallery/plum/12.jpg": p(11)}
	s := Settings{Input: files.folder(t)}
	src := must.Get(Folder{}.Open(t.Context(), s))(t)
	defer src.Close()
	dir := t.TempDir()
	r := must.Get(shards.Build(t.Context(), src, dir, shards.Options{Workers: 2}))(t)
	want := &shards.Duplicates{Images: 4,
		BetweenSplits: []shards.SharedImages{
			{Split: labels.Test, AlsoIn: labels.Train, Images: 1,
				Examples: [][2]string{{"test/apple/8.jpg", "train/apple/1.jpg"}}},
			{Split: labels.Query, AlsoIn: labels.Train, Images: 1,
				Examples: [][2]string{{"query/plum/10.jpg", "train/apple/2.jpg"}}},
			{Split: labels.Gallery, AlsoIn: labels.Query, Images: 1,
				Examples: [][2]string{{"gallery/plum/12.jpg", "query/plum/11.jpg"}}},
		},
		BetweenClasses: &shards.SharedImages{Images: 1,
			Examples: [][2]string{{"query/plum/10.jpg", "train/apple/2.jpg"}}}}
	got, err := shards.ReadDuplicates(t.Context(), dir)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v, want\n%+v", err, got, want)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes,
		"1 image of test is also in train, byte for byte: test/apple/8.jpg is train/apple/1.jpg") ||
		!strings.Contains(notes, "1 image has the bytes of one of another class: query/plum/10.jpg is train/apple/2.jpg") {
		t.Error(notes)
	}
	if of := got.Notes(labels.Test); len(of) != 2 || !strings.Contains(of[0], "of test") {
		t.Errorf("of the test: %q", of)
	}
	clean := build(t, Folder{}, Settings{Input: tree{"a/1.jpg": p(1), "b/2.jpg": p(2)}.folder(t)})
	if len(clean.Notes) > 0 {
		t.Errorf("%q", clean.Notes)
	}
}

// Names that look alike are one class in either form of Unicode. Other twins are listed, all of them.
func TestTwinsAmongClassesAreNamed(t *testing.T) {
	rows := "path,level_0,split\n1.jpg,Caf\u00e9,train\n2.jpg,Cafe\u0301,test\n3.jpg,cat,train\n4.jpg,Cat,train\n" +
		"5.jpg,dog ,train\n6.jpg,dog,test\n7.jpg,7,train\n8.jpg,7.0,test\n9.jpg,CAT,test\n"
	files := tree{"t.csv": rows}
	for n := range 9 {
		files[string(rune('1'+n))+".jpg"] = string(picture(t, n))
	}
	dir := files.folder(t)
	want := []string{`level_0: "Caf\u00e9" is written in two forms of Unicode, and is one class`,
		`level_0: "cat", "Cat" and "CAT" are 3 classes; if they are one, spell them alike`,
		`level_0: "dog " and "dog" are two classes; if they are one, spell them alike`,
		`level_0: "7" and "7.0" are two classes; if they are one, spell them alike`}
	want[0] = strings.ReplaceAll(want[0], `\u00e9`, "é")
	r := build(t, CSV{}, Settings{Input: dir + "/t.csv"})
	if !slices.Equal(r.Notes, want) {
		t.Errorf("%q, want\n%q", r.Notes, want)
	}
	if classes := r.Manifest.Levels[0].Classes; len(classes) != 8 {
		t.Errorf("%q", classes)
	}
	files["t.csv"] = "path,level_0,split\n1.jpg,cat,train\n2.jpg,dog,train\n3.jpg,0,test\n4.jpg,1,test\n"
	r = build(t, CSV{}, Settings{Input: files.folder(t) + "/t.csv"})
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0],
		`the classes of test are numbers (0) and those of train are names ("cat")`) {
		t.Errorf("%q", r.Notes)
	}
}
