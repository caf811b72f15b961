package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A project of images runs to its table as init wrote it, but for the number of steps: with a test
// among the images, and without one, when classes are held out.
func TestProjectOfImagesRuns(t *testing.T) {
	pictureShards(t)
	for name, images := range map[string]string{"tested": "pictures", "held": "pictures/train"} {
		must(t, "init", "--images", images, name)
		settings := filepath.Join(name, projectFile)
		text, err := os.ReadFile(settings)
		if err != nil {
			t.Fatal(err)
		}
		short := strings.Replace(string(text), "steps: 200", "steps: 2", 1)
		if err := os.WriteFile(settings, []byte(short), 0o644); err != nil || short == string(text) {
			t.Fatalf("%s has no 200 steps: %v", settings, err)
		}
		must(t, "run", "-C", name)
		if r := readResult(t, filepath.Join(name, "eval.json")); r.Queries == 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
