package dataset

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"hgld/labels"
)

func TestSurveyCountsImagesAndClasses(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"train/fruit/apple/1.png", "train/fruit/apple/2.png", "train/leek/leek/1.png",
		"test/fruit/pear/1.png"} {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	src, err := Folder{}.Open(context.Background(), Settings{Input: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	s, err := NewSurvey(context.Background(), src)
	if err != nil {
		t.Fatal(err)
	}
	if s.Images[labels.Train] != 3 || s.Images[labels.Test] != 1 || len(s.Levels) != 2 {
		t.Errorf("%+v, want 3 and 1 images of 2 levels", s)
	}
	if all, pairs := s.Classes(labels.Train, 1), s.Classes(labels.Train, 2); all != 2 || pairs != 1 {
		t.Errorf("%d classes, %d with two images; want 2 and 1", all, pairs)
	}
}

// A link does not hide that a path lies in a folder.
func TestWithinFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.MkdirAll(at("photos/fruit"), 0o755); err != nil {
		t.Fatal(err)
	}
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
