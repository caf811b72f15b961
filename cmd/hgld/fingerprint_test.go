package main

import (
	"os"
	"path/filepath"
	"testing"
)

// writeIn makes a file in a folder of the test.
func writeIn(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// printOf is the fingerprint of a path that exists.
func printOf(t *testing.T, path string) string {
	t.Helper()
	prints, err := stages().Fingerprint([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	return prints[path]
}

func TestRunDirectoryIsKnownByItsCheckpoints(t *testing.T) {
	dir := t.TempDir()
	writeIn(t, dir, "run.yaml", "steps: 5\n")
	writeIn(t, dir, "best.json", "{}")
	writeIn(t, dir, "checkpoints/step-00000005/SHA256SUMS", "abc  model.safetensors\n")
	writeIn(t, dir, "checkpoints/step-00000005/model.safetensors", "weights")
	was, checkpoint := printOf(t, dir), printOf(t, filepath.Join(dir, "checkpoints", "step-00000005"))
	writeIn(t, dir, "lock", "1234")
	writeIn(t, dir, "tensorboard/events.out.tfevents.000002", "curves")
	if printOf(t, dir) != was {
		t.Error("a lock and a log make another run")
	}
	writeIn(t, dir, "checkpoints/step-00000009/SHA256SUMS", "def  model.safetensors\n")
	if printOf(t, dir) == was {
		t.Error("a new checkpoint goes unnoticed")
	}
	if printOf(t, filepath.Join(dir, "checkpoints", "step-00000005")) != checkpoint {
		t.Error("a checkpoint changes with its neighbours")
	}
	now := printOf(t, dir)
	writeIn(t, dir, "run.yaml", "steps: 9\n")
	if printOf(t, dir) == now {
		t.Error("other settings go unnoticed")
	}
}

func TestImagesBesideTheirTableAreWatched(t *testing.T) {
	dir := t.TempDir()
	writeIn(t, dir, "images.csv", "landmark_id,path\n1,photos/a/1.jpg\n2,more/2.jpg\n3,flat.jpg\n"+
		"4,../up/4.jpg\n5,gone/5.jpg\n6,photos/6.jpg\n")
	writeIn(t, dir, "photos/a/1.jpg", "x")
	writeIn(t, dir, "more/2.jpg", "x")
	s := &shardsSettings{Dataset: "csv", Input: filepath.Join(dir, "images.csv")}
	got, err := s.imageFolders()
	if err != nil || len(got) != 2 || got[0] != filepath.Join(dir, "more") || got[1] != filepath.Join(dir, "photos") {
		t.Errorf("folders %q, want more and photos; error %v", got, err)
	}
	s.Columns.Path = "file"
	if got, err := s.imageFolders(); got != nil || err != nil {
		t.Errorf("folders %q of a table without the column", got)
	}
	s.Columns.Path, s.Images = "", "photos.zip"
	if got, err := s.imageFolders(); got != nil || err != nil {
		t.Errorf("folders %q, and the images are in an archive", got)
	}
}
