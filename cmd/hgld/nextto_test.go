package main

import (
	"os"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// The present folder has a name, too: without it, outputs were called .npy, and the folder that the
// message names lay in the images again.
func TestNamesAfterThePresentFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"photos.v1/a.b", "photos.v2"} {
		must.Do(t, os.MkdirAll(dir, 0o755))
	}
	t.Chdir("photos.v1/a.b")
	for path, want := range map[string][2]string{
		".":               {"a.b", "../a.b-project"},
		"..":              {"photos.v1", "../../photos.v1-project"},
		"../":             {"photos.v1", "../../photos.v1-project"},
		"../../photos.v2": {"photos.v2", "../../photos.v2-project"},
		"../e.npy":        {"e", "../e.npy-project"},
		"pictures.tar":    {"pictures", "pictures.tar-project"},
	} {
		if got := [2]string{stemOf(path), nextTo(path, "-project")}; got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	code, _, errs := run(t, "init", "--images", ".", "new")
	if code != exitUsage || !strings.Contains(errs, "hgld init --images . ../a.b-project\n") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	code, _, errs = run(t, "shards", "build", "--dataset", "folder", "--input", ".")
	if code != exitUsage || !strings.Contains(errs, "--out ../a.b-shards\n") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}
