package dataset

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

func TestSurveyCountsImagesAndClasses(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"train/fruit/apple/1.png", "train/fruit/apple/2.png", "train/leek/leek/1.png",
		"test/fruit/pear/1.png"} {
		file := filepath.Join(dir, path)
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must.Do(t, os.WriteFile(file, []byte("x"), 0o644))
	}
	src := must.Get(Folder{}.Open(context.Background(), Settings{Input: dir}))(t)
	defer src.Close()
	s := must.Get(NewSurvey(context.Background(), src))(t)
	if s.Images[labels.Train] != 3 || s.Images[labels.Test] != 1 || len(s.Levels) != 2 {
		t.Errorf("%+v, want 3 and 1 images of 2 levels", s)
	}
	if all, pairs := s.Classes(labels.Train, 1), s.Classes(labels.Train, 2); all != 2 || pairs != 1 {
		t.Errorf("%d classes, %d with two images; want 2 and 1", all, pairs)
	}
}

// init surveys the images before it writes anything, so the survey must find what would stop the
// build.
func TestSurveyFindsTheFaultsOfABuild(t *testing.T) {
	for _, c := range []struct {
		rows string
		want []string
	}{
		{"1.jpg,a,x,train\n2.jpg,a,y,train\n", []string{`fine "a" has two parents`, "t.csv:2", "t.csv:3"}},
		{"1.jpg,a,x,train\n2.jpg,b,x,held\n", []string{"t.csv:3", `split "held"`, "want one of"}},
		{"1.jpg,a,x,train\n1.jpg,a,x,train\n", []string{"t.csv:3", "occurs twice", "t.csv:2"}},
		{"3.jpg,a,x,train\n4.jpg,b,x,train\n", []string{"none of the 2 images is there", "3.jpg (t.csv:2)"}},
	} {
		dir := tree{"t.csv": "path,fine,coarse,split\n" + c.rows, "1.jpg": "x", "2.jpg": "y"}.folder(t)
		src, err := CSV{}.Open(t.Context(), Settings{Input: filepath.Join(dir, "t.csv"), Levels: []string{"fine", "coarse"}})
		if err == nil {
			_, err = NewSurvey(t.Context(), src)
			src.Close()
		}
		wantError(t, err, c.want...)
	}
}

func TestSurveyNotesLikelyMistakes(t *testing.T) {
	dir := tree{"t.csv": "path,level_0\n1.jpg,Apple\n2.jpg,apple \n3.jpg,pear\n", "1.jpg": "x", "2.jpg": "y"}.folder(t)
	src := must.Get(CSV{}.Open(t.Context(), Settings{Input: filepath.Join(dir, "t.csv")}))(t)
	defer src.Close()
	s := must.Get(NewSurvey(t.Context(), src))(t)
	want := []string{"1 image missing, 3.jpg (t.csv:4) first",
		`level_0: "Apple" and "apple " are two classes; if they are one, spell them alike`}
	if got := s.notes(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	wantError(t, s.Learnable(), "two classes of two images", "0 of 3 classes (3 images) have two")
}

// A path below a folder is recognised through a link.
func TestWithinFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must.Do(t, os.MkdirAll(at("photos/fruit"), 0o755))
	if err := os.Symlink("photos", at("link")); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		folder, path string
		want         bool
	}{
		{"photos", "photos/new/shards", true}, {"photos", "photos", true}, {"photos", "photos-shards", false},
		{"photos", "shards", false}, {"link", "photos/shards", true}, {"photos", "link/shards", true},
		{"none", "none/shards", false},
	} {
		if is, err := Within(at(c.folder), at(c.path)); err != nil || is != c.want {
			t.Errorf("%s in %s: %v, %v; want %v", c.path, c.folder, is, err, c.want)
		}
	}
}
