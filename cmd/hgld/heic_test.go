package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/img"
	"hgld/internal/testing/must"
)

// phonePictures adds photographs of a phone to the drawings: HEIC under its own name, and called .jpg.
func phonePictures(t *testing.T) (heic string) {
	t.Helper()
	data := must.Get(filepath.Abs("../../internal/img/testdata/heif/turned.heic"))(t)
	trainedPictures(t)
	text := must.Get(os.ReadFile(data))(t)
	folders, err := filepath.Glob("pictures/train/*/place0")
	if err != nil || len(folders) != 1 {
		t.Fatal(folders, err)
	}
	for _, name := range []string{"phone.HEIC", "export.jpg"} {
		must.Do(t, os.WriteFile(filepath.Join(folders[0], name), text, 0o644))
	}
	return data
}

func TestHEICImagesAreRead(t *testing.T) {
	lib := must.Get(img.DefaultHEIF())(t)
	if lib == nil {
		t.Log(img.WhichHEIF())
		return
	}
	heic := phonePictures(t)
	succeeds(t, "init", "--images", "pictures", "--levels", "place,form", "mine")
	succeeds(t, "shards", "build", "-C", "mine", "--short-side", "0")
	succeeds(t, "shards", "check", "mine/shards")
	text, err := os.ReadFile("mine/shards/BUILD.json")
	if err != nil || !strings.Contains(string(text), `"heif": "libheif `) {
		t.Errorf("BUILD.json, %v: %s", err, text)
	}
	succeeds(t, "embed-images", "--run", "runs/a", "--out", "p.npy", "pictures/train")
	var found struct {
		Neighbours []struct {
			ID    string
			Score float64
		}
	}
	out := succeeds(t, "search", "--index", "p.npy", "--json", "--report", "found.html", heic)
	must.Do(t, json.Unmarshal([]byte(out), &found))
	for _, n := range found.Neighbours[:2] {
		if !strings.HasSuffix(n.ID, "phone.HEIC") && !strings.HasSuffix(n.ID, "export.jpg") || n.Score < 0.9999 {
			t.Errorf("the nearest are %+v", found.Neighbours[:3])
		}
	}
	if page, err := os.ReadFile("found.html"); err != nil || strings.Contains(string(page), "libheif") {
		t.Errorf("the page lacks pictures, %v", err)
	}
}

func TestHEICImagesWithoutLibheifAreNamed(t *testing.T) {
	heic := phonePictures(t)
	t.Setenv(img.HEIFVariable, "off")
	code, _, errs := run(t, "shards", "build", "--dataset", "folder", "--input", "pictures", "--levels", "place,form",
		"--out", "new", "--allow-missing", "0.1")
	for _, want := range []string{"1 file left out, in formats that hgld reads by libheif (.heic: 1)",
		"1 image left out"} {
		if code != exitSomeFailed || !strings.Contains(errs, want) {
			t.Errorf("exit code %d, want %q in %s", code, want, errs)
		}
	}
	succeeds(t, "embed-images", "--run", "runs/a", "--out", "p.npy", "pictures/test")
	code, _, errs = run(t, "search", "--index", "p.npy", heic)
	if code != exitUsage || !strings.Contains(errs, "apt install libheif1") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if out := succeeds(t, "doctor"); !strings.Contains(out, "HEIC and AVIF are left out (HGLD_LIBHEIF is set)") {
		t.Errorf("doctor: %s", out)
	}
	t.Setenv(img.HEIFVariable, "no")
	code, _, errs = run(t, "search", "--index", "p.npy", heic)
	if code != exitUsage || !strings.Contains(errs, "HGLD_LIBHEIF") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}
