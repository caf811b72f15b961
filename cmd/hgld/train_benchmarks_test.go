package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/shards"
	"hgld/shards/dataset"
	"hgld/train/experiment/runs"
)

// benchmarkShards builds shards of one level from drawings of the test: views 8 and 9
// are queries, the others the gallery.
func benchmarkShards(t *testing.T, level, out string) {
	t.Helper()
	for place := range 12 {
		from, err := filepath.Glob(filepath.Join("pictures", "test", "*", fmt.Sprint("place", place)))
		if err != nil || len(from) != 1 {
			t.Fatal(from, err)
		}
		class := map[string]string{"place": fmt.Sprint("place", place), "form": filepath.Base(filepath.Dir(from[0]))}[level]
		for view := 8; view < 12; view++ {
			split := map[bool]string{true: "query", false: "gallery"}[view < 10]
			text := must.Get(os.ReadFile(filepath.Join(from[0], fmt.Sprint(view, ".png"))))(t)
			to := filepath.Join(out+"-pictures", split, class, fmt.Sprint(place, "-", view, ".png"))
			must.Do(t, os.MkdirAll(filepath.Dir(to), 0o755))
			must.Do(t, os.WriteFile(to, text, 0o644))
		}
	}
	src := must.Get(dataset.Folder{}.Open(context.Background(),
		dataset.Settings{Input: out + "-pictures", Levels: []string{level}}))(t)
	defer src.Close()
	must.Get(shards.Build(context.Background(), src, out, shards.Options{}))(t)
}

// The test of DyML: a folder of shards for each level, with images of its own.
func TestTrainingIsTestedOnBenchmarks(t *testing.T) {
	pictureShards(t)
	benchmarkShards(t, "place", "shards-place")
	benchmarkShards(t, "form", "shards-form")
	succeeds(t, tinyRun("-o", "benchmarks=shards-place,shards-form")...)
	r := readResult(t, filepath.Join("runs", "default", runs.EvaluationFile))
	if r.On != "test" || r.Queries != 48 || r.Gallery != 48 || r.Self || strings.Join(r.Levels, " ") != "place form" {
		t.Errorf("%+v", r)
	}
	if fine, coarse := r.Mean("AP_level0"), r.Mean("AP_level1"); !(fine > 0 && coarse > 0) ||
		float64(r.Overall["AP"]) != fine+(coarse-fine)/2 {
		t.Errorf("AP %v and %v, overall %v", fine, coarse, r.Overall["AP"])
	}
	text, err := os.ReadFile(filepath.Join("runs", "default", runs.SettingsFile))
	if err != nil || !strings.Contains(string(text), "shards-form") {
		t.Errorf("%v: the run does not say what it was tested on\n%s", err, text)
	}
	succeeds(t, "eval", "run", "-o", "intervals=false", "--out", "again.json")
	again := readResult(t, "again.json")
	if again.On = r.On; !reflect.DeepEqual(again, r) {
		t.Errorf("eval run has\n%+v\nthe training had\n%+v", again, r)
	}
	says(t, exitUsage, "shards-place, shards-form", "eval", "run", "--report", "page.html")
	if code, out, errs := run(t, "eval", "run", "--query", "test"); code != 0 ||
		!strings.Contains(out, "48 queries, 48 gallery items, each") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errs)
	}
	s, err := runs.ReadSettings("runs/default")
	if err != nil || strings.Join(s.Images.Benchmarks, " ") != "shards-place shards-form" ||
		!strings.Contains(string(text), "- ../../shards-form") {
		t.Errorf("%v: the run finds %v\n%s", err, s, text)
	}
	says(t, exitUsage, "no query images are selected", "eval", "run", "--data", "shards")
	for want, args := range map[string][]string{
		`has no split "query"`:      {"-o", "benchmarks=shards"},
		"set only one of them as t": {"-o", "benchmarks=shards-place", "--query", "test"},
		"nowhere":                   {"-o", "benchmarks=nowhere"},
		"benchmark 1 has the leve":  {"-o", "benchmarks=shards-both"},
	} {
		if args[1] == "benchmarks=shards-both" {
			twoLevelBenchmark(t)
		}
		if code, _, errs := run(t, tinyRun(append(args, "--out", "runs/other")...)...); code == 0 ||
			!strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d\n%s", args, code, errs)
		}
	}
}

// twoLevelBenchmark builds shards-both, with a split query of two levels.
func twoLevelBenchmark(t *testing.T) {
	t.Helper()
	must.Do(t, os.CopyFS(filepath.Join("both", "query"), os.DirFS(filepath.Join("pictures", "test"))))
	src := must.Get(dataset.Folder{}.Open(context.Background(),
		dataset.Settings{Input: "both", Levels: []string{"place", "form"}}))(t)
	defer src.Close()
	must.Get(shards.Build(context.Background(), src, "shards-both", shards.Options{}))(t)
}
