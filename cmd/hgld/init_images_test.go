package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/index"
)

// A project of images runs to its table as init wrote it, but for the number of steps: with a test
// among the images, and without one, when classes are held out.
func TestProjectOfImagesRuns(t *testing.T) {
	pictureShards(t)
	for name, images := range map[string]string{"tested": "pictures", "held": "pictures/train"} {
		succeeds(t, "init", "--images", images, name)
		settings := filepath.Join(name, projectFile)
		text := must.Get(os.ReadFile(settings))(t)
		short := string(text)
		for _, line := range [][2]string{
			{"  steps: 200", "  steps: 2"}, {"  #input.size: 224", "  input.size: 32"},
			{"  #input.resize: 256", "  input.resize: 36"},
		} {
			if !strings.Contains(short, line[0]) {
				t.Fatalf("%s has no line %s", settings, line[0])
			}
			short = strings.Replace(short, line[0], line[1], 1)
		}
		must.Do(t, os.WriteFile(settings, []byte(short), 0o644))
		succeeds(t, "run", "-C", name)
		if r := readResult(t, filepath.Join(name, "eval.json")); r.Queries == 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	searchProject(t, "held", "pictures/train")
}

// searchProject searches with images of the project: the index is its run, and all images are in it,
// those of the training too.
func searchProject(t *testing.T, project, images string) {
	t.Helper()
	var queries []string
	for _, class := range []string{"*/*/0.png", "*/*/1.png"} {
		list, err := filepath.Glob(filepath.Join(images, class))
		if err != nil || len(list) == 0 {
			t.Fatalf("no images %s: %v", class, err)
		}
		queries = append(queries, list...)
	}
	code, out, errs := run(t, append([]string{"search", "-C", project, "-k", "1", "--json"}, queries...)...)
	var found []struct {
		Query      string
		Neighbours []index.Hit
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil || code != exitOK || len(found) != len(queries) {
		t.Fatalf("exit code %d, %v\n%s", code, err, errs)
	}
	for i, f := range found {
		if f.Query != queries[i] || f.Neighbours[0].Score < 0.999 {
			t.Errorf("%s: nearest %+v, want the image itself", f.Query, f.Neighbours[0])
		}
	}
	broken := filepath.Join(t.TempDir(), "broken.jpg")
	must.Do(t, os.WriteFile(broken, []byte("<html>"), 0o644))
	code, out, errs = run(t, "search", "-C", project, "--index", "runs/default", "-k", "1", "--format", "csv", queries[0],
		broken)
	if code != exitSomeFailed || !strings.HasPrefix(out, "query,id,place,score") ||
		!strings.Contains(errs, "1 of 2 images cannot be read") {
		t.Errorf("one broken image of two: exit code %d\n%s%s", code, out, errs)
	}
	code, _, errs = run(t, "search", "-C", project, broken)
	if code != exitUsage || !strings.Contains(errs, "cannot be read as an image") ||
		strings.Contains(errs, "embedding") {
		t.Errorf("a broken image: exit code %d\n%s", code, errs)
	}
}
