package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/testfile"
)

func TestBuildCompletesTheSlices(t *testing.T) {
	publishedFolders(t)
	args := func(more ...string) []string {
		return append([]string{"shards", more[0], "--dataset", "sop", "--input", "Stanford_Online_Products",
			"--images-per-shard", "2"}, more[1:]...)
	}
	must := func(want string, a ...string) {
		t.Helper()
		code, out, errs := run(t, args(a...)...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%v: exit code %d, no %q\n%s%s", a, code, want, out, errs)
		}
	}
	must("12 images in 6 shards, 6 missing\n", "plan")
	must("1,2,3,4\n", "plan", "--missing", "4")
	must("slice 2 of 4: 4 images in 2 shards, 0 there already\n", "slice", "2/4")
	must("1,3,4\n", "plan", "--missing", "4")
	must("slice 2 of 4: 4 images in 2 shards, 2 there already\n", "slice", "2/4")
	must("slice 1 of 1: 12 images in 6 shards, 2 there already\n", "slice", "1/1")
	code, out, errs := run(t, args("build")...)
	if code != 0 || !strings.Contains(errs, "6 shards there already") {
		t.Errorf("build: exit code %d\n%s%s", code, out, errs)
	}
	must("0 missing", "plan")
	if code, _, errs := run(t, args("slice")...); code != exitUsage || !strings.Contains(errs, "3/8") {
		t.Errorf("no slice: exit code %d\n%s", code, errs)
	}
}

// In a project, a data set made of slices is the stage's result, of the inputs that the slices have read.
func TestFinishedSlicesAreTheStageOfTheProject(t *testing.T) {
	publishedFolders(t)
	testfile.Write(t, ".", projectFile, "stages: [shards]\n"+
		"shards: {dataset: sop, input: Stanford_Online_Products, images_per_shard: 2}\n")
	must := func(want string, args ...string) {
		t.Helper()
		code, out, errs := run(t, args...)
		if code != 0 || !strings.Contains(out+errs, want) {
			t.Errorf("%v: exit code %d, no %q\n%s%s", args, code, want, out, errs)
		}
	}
	must("slice 1 of 2", "shards", "slice", "1/2")
	must("slice 2 of 2", "shards", "slice", "2/2")
	must("", "shards", "finish")
	must("shards   done", "status")
	must("shards   done", "run", "--until", "shards")
	if err := os.Remove(".hgld/shards.json"); err != nil { // as if the process had ended before
		t.Fatal(err)
	}
	must("is finished already", "shards", "finish")
	must("shards   done", "status")

	must("slice 1 of 1", "shards", "slice", "1/1", "--out", "other")
	must("", "shards", "finish", "--out", "other")
	must("shards   done", "status")
	if err := os.Remove(".hgld/shards.json"); err != nil {
		t.Fatal(err)
	}
	must("built with other settings", "shards", "finish", "--levels", "super_class")
	must("built with other settings", "shards", "finish", "--short-side", "100")
	must("shards   missing", "status")
}

// A table that was changed after the slices had read it makes the finished data set stale.
func TestFinishRecordsTheTableThatTheSlicesRead(t *testing.T) {
	publishedFolders(t)
	testfile.Write(t, ".", projectFile, "shards: {input: images.csv, levels: [kind]}\n")
	pictures, err := filepath.Glob("CUB_200_2011/images/*/*.jpg")
	if err != nil || len(pictures) == 0 {
		t.Fatal(err)
	}
	picture, err := os.ReadFile(pictures[0])
	if err != nil {
		t.Fatal(err)
	}
	testfile.Write(t, ".", "1.jpg", string(picture))
	testfile.Write(t, ".", "images.csv", "path,kind\n1.jpg,a\n")
	if code, _, errs := run(t, "shards", "slice", "1/1"); code != 0 {
		t.Fatal(errs)
	}
	testfile.Write(t, ".", "images.csv", "path,kind\n1.jpg,b\n")
	if code, _, errs := run(t, "shards", "finish"); code != 0 {
		t.Fatal(errs)
	}
	if _, out, _ := run(t, "status"); !strings.Contains(out, "shards   stale    images.csv changed since") {
		t.Error(out)
	}
}

// The scratch folder may lie above the data set, but not in it, where verify and other commands would meet its files.
func TestScratchIsOutsideOfTheDataSet(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "set", "tmp")
	if err := os.MkdirAll(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	for scratch, want := range map[string]bool{inside: false, filepath.Dir(inside): false, dir: true, "": true} {
		if err := checkScratch(scratch, filepath.Dir(inside)); (err == nil) != want {
			t.Errorf("%s: %v", scratch, err)
		}
	}
	if err := checkScratch(dir, "s3://bucket/set"); err != nil {
		t.Error(err)
	}
}
