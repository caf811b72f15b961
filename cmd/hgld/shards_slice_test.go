package main

import (
	"strings"
	"testing"
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
