package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
)

func TestBuildCompletesTheSlices(t *testing.T) {
	publishedFolders(t)
	args := func(more ...string) []string {
		return append([]string{"shards", "build", "--dataset", "sop", "--input", "Stanford_Online_Products",
			"--images-per-shard", "2"}, more...)
	}
	expect := func(want string, a ...string) {
		t.Helper()
		code, out, errs := run(t, args(a...)...)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("%v: exit code %d, no %q\n%s%s", a, code, want, out, errs)
		}
	}
	expect("12 images in 6 shards, 9.0 kB, 6 missing\n", "--dry-run")
	expect("1,2,3,4\n", "--slice", "missing/4")
	says(t, exitOK, "6 shards to build from 9.0 kB of images; predicted: ", args("--slice", "missing/4")...)
	expect("slice 2 of 4: 4 images in 2 shards, 0 already built\n", "--slice", "2/4")
	expect("1,3,4\n", "--slice", "missing/4")
	expect("slice 2 of 4: 4 images in 2 shards, 2 already built\n", "--slice", "2/4")
	expect("slice 1 of 1: 12 images in 6 shards, 2 already built\n", "--slice", "1/1")
	says(t, exitOK, "6 shards already built", args()...)
	expect("0 missing", "--dry-run")
	says(t, exitUsage, "3/8", args("--slice", "third")...)
}

// In a project, a data set made of slices is the stage's result, of the inputs that the slices have read.
func TestFinishedSlicesAreTheStageOfTheProject(t *testing.T) {
	publishedFolders(t)
	testfile.Write(t, ".", projectFile, "stages: [shards]\n"+
		"shards: {dataset: sop, input: Stanford_Online_Products, images_per_shard: 2}\n")
	expect := func(want string, args ...string) {
		t.Helper()
		code, out, errs := run(t, args...)
		if code != 0 || !strings.Contains(out+errs, want) {
			t.Errorf("%v: exit code %d, no %q\n%s%s", args, code, want, out, errs)
		}
	}
	expect("slice 1 of 2", "shards", "build", "--slice", "1/2")
	expect("slice 2 of 2", "shards", "build", "--slice", "2/2")
	expect("", "shards", "build", "--slice", "finish")
	expect("shards   done", "status")
	expect("shards   done", "run", "--until", "shards")
	if err := os.Remove(".hgld/shards.json"); err != nil { // as if the process had ended before
		t.Fatal(err)
	}
	expect("is already finished", "shards", "build", "--slice", "finish")
	expect("shards   done", "status")

	expect("slice 1 of 1", "shards", "build", "--slice", "1/1", "--out", "other")
	expect("", "shards", "build", "--slice", "finish", "--out", "other")
	expect("shards   done", "status")
	must.Do(t, os.Remove(".hgld/shards.json"))
	expect("built with other settings", "shards", "build", "--slice", "finish", "--levels", "super_class")
	expect("built with other settings", "shards", "build", "--slice", "finish", "--short-side", "100")
	expect("shards   missing", "status")
}

// A table that was changed after the slices had read it makes the finished data set stale.
func TestFinishRecordsTheTableThatTheSlicesRead(t *testing.T) {
	publishedFolders(t)
	testfile.Write(t, ".", projectFile, "shards: {input: images.csv, levels: [kind]}\n")
	pictures, err := filepath.Glob("CUB_200_2011/images/*/*.jpg")
	if err != nil || len(pictures) == 0 {
		t.Fatal(err)
	}
	picture := must.Get(os.ReadFile(pictures[0]))(t)
	testfile.Write(t, ".", "1.jpg", string(picture))
	testfile.Write(t, ".", "images.csv", "path,kind\n1.jpg,a\n")
	succeeds(t, "shards", "build", "--slice", "1/1")
	testfile.Write(t, ".", "images.csv", "path,kind\n1.jpg,b\n")
	succeeds(t, "shards", "build", "--slice", "finish")
	if _, out, _ := run(t, "status"); !strings.Contains(out, "shards   stale    images.csv changed since") {
		t.Error(out)
	}
}

// The scratch folder may lie above the data set, but not in it, where verify and other commands would meet its files.
func TestScratchIsOutsideOfTheDataSet(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "set", "tmp")
	must.Do(t, os.MkdirAll(inside, 0o755))
	for scratch, want := range map[string]bool{inside: false, filepath.Dir(inside): false, dir: true, "": true} {
		if err := checkScratch(scratch, filepath.Dir(inside)); (err == nil) != want {
			t.Errorf("%s: %v", scratch, err)
		}
	}
	if err := checkScratch(dir, "s3://bucket/set"); err != nil {
		t.Error(err)
	}
}
