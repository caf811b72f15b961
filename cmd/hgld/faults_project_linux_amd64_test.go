package main

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hgld/curate"
	"hgld/internal/testing/must"
	"hgld/internal/testing/sketch"
	"hgld/labels"
	"hgld/scrape/testing/fakecommons"
)

// faultyProject is the hgld.yaml of the smallest project that has every stage.
const faultyProject = `hgld: 1
device: cpu
scrape: {split: train, base_url: %s, rate: 0}
embed: {encoder: hashing}
threads: 1
cluster: {k: 2, n_init: 1}
curate: {logs: [anna.jsonl]}
shards: {dataset: csv, input: images.csv, labels: labels.csv, images_per_shard: 4}
train:
  out: runs/default
  hold_out: 0.34
  input: {size: 8, resize: 8}
  model: {backbone: {name: convnet, settings: {widths: [4], strides: [2]}}, dim: 4}
  sampler: {batch: 8, m: 2}
  steps: 2
  run: {workers: 1}
eval: {run: runs/default}
`

// faultyStudy has two runs.
const faultyStudy = `hgld_study: 1
title: Two losses
train:
  data: shards
  hold_out: 0.34
  input: {size: 8, resize: 8}
  model: {backbone: {name: convnet, settings: {widths: [4], strides: [2]}}, dim: 4}
  sampler: {batch: 8, m: 2}
  steps: 2
  run: {workers: 1}
vary:
  loss: {A: {loss: smooth-ap}, B: {loss: happier}}
seeds: [1]
metrics: [R@1_level0, H-AP]
comparisons: [{title: B is better, from: A, expect: higher}]
`

// faultyInputs are the files that a user brings to that project.
func faultyInputs(t *testing.T, url string) map[string][]byte {
	t.Helper()
	pages := faultyPages()
	var table, images bytes.Buffer
	must.Do(t, fakecommons.WriteCSV(&table, pages))
	files := map[string][]byte{
		"hgld.yaml":      fmt.Appendf(nil, faultyProject, url),
		"categories.csv": table.Bytes(),
		"rows.csv": []byte("landmark_id,category,supercategory\n" +
			"0,Category:A,church\n1,Category:B,lake\n2,Category:C,bridge\n"),
		"sheet.csv":  []byte("church,4,lake,2\nchurch,2,lake,2\nbridge,2,,\n"),
		"moves.csv":  []byte("lake,2,bridge,2\nlake,2,bridge,2\n"),
		"study.yaml": []byte(faultyStudy),
		"kinds.csv":  []byte("group,parent\nlake,natural\nchurch,human-made\n"),
	}
	images.WriteString("path,split,landmark_id\n")
	for landmark := range 6 {
		for view := range 2 {
			var data bytes.Buffer
			must.Do(t, jpeg.Encode(&data, sketch.Picture(landmark/2, landmark, view, 12), nil))
			name := fmt.Sprintf("images/%d_%d.jpg", landmark, view)
			files[name] = data.Bytes()
			fmt.Fprintf(&images, "%s,train,%d\n", name, landmark)
		}
	}
	files["images.csv"] = images.Bytes()
	return files
}

func faultyPages() []fakecommons.Category {
	var pages []fakecommons.Category
	for i, tag := range []string{"church", "church", "lake", "lake", "bridge", "bridge"} {
		pages = append(pages, fakecommons.Category{
			Landmark: labels.LandmarkID(i), Title: fmt.Sprintf("Category:Place %d", i),
			Values: []fakecommons.Value{{Text: tag}},
		})
	}
	return append(pages, fakecommons.Category{Landmark: 6, Title: "Category:Nobody knows", Variant: fakecommons.NoTag})
}

// hgldIn is a command line of hgld in a folder, in a process of its own. One thread runs
// Go code at a time, so that the calls come in nearly the same order every time.
func hgldIn(t *testing.T, dir string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self := must.Get(os.Executable())(t)
	var out bytes.Buffer
	cmd := &exec.Cmd{Path: self, Args: append([]string{"hgld"}, args...), Dir: dir, Stdout: &out, Stderr: &out}
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "PWD="+dir)
	return cmd, &out
}

// mustRun runs hgld in a folder and ends the test where it fails.
func mustRun(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd, out := hgldIn(t, dir, args...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("hgld %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out.String()
}

// snapshot are the files of a folder, by their path in it.
type snapshot map[string][]byte

// takeSnapshot reads every file below a folder.
func takeSnapshot(t *testing.T, dir string) snapshot {
	t.Helper()
	files := snapshot{}
	must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[rel], err = os.ReadFile(path)
		return err
	}))
	return files
}

// snapshotTime is the time of change of all files of a restored folder.
var snapshotTime = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// restore makes a folder hold the files of a snapshot and nothing else.
func (s snapshot) restore(t *testing.T, dir string) {
	t.Helper()
	must.Do(t, os.RemoveAll(dir))
	for name, data := range s {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Do(t, os.WriteFile(path, data, 0o644))
		must.Do(t, os.Chtimes(path, snapshotTime, snapshotTime))
	}
}

// without is the snapshot without the files that match one of the patterns; a pattern
// that ends in a slash is a folder.
func (s snapshot) without(patterns ...string) snapshot {
	left := snapshot{}
	for name, data := range s {
		if !matches(name, patterns) {
			left[name] = data
		}
	}
	return left
}

func matches(name string, patterns []string) bool {
	for _, p := range patterns {
		if ok, _ := filepath.Match(p, name); ok || strings.HasSuffix(p, "/") && strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// moments are the parts of a file that tell when it was written, or how long that took.
var moments = regexp.MustCompile(`"(finished|time|started|took|seconds|waited|at|created)": ?("[^"]*"|[0-9.e+-]+)|` +
	`,\n "sha256": "[0-9a-f]{64}"\n}\n$`)

// journalFile is the journal of a training, a line an event.
const journalFile = "events.jsonl"

// steps are the lines of a training's journal that tell of a step.
var steps = regexp.MustCompile(`(?m)^\{"event":"step".*$`)

// passing are files that are no result: locks, the journals of SQLite and of a
// training, and its database, whose contents `scrape check` compares with the rest.
var passing = []string{"*.lock", "scrape/lock", "scrape/scrape.db*", "runs/*/lock", "runs/*/tensorboard/*",
	"runs/*/*/lock", "runs/*/*/tensorboard/*", "studies/*/runs/*/lock", "studies/*/runs/*/tensorboard/*"}

// temporary reports whether a file is one in the making, which the next run removes.
func temporary(name string) bool {
	base := filepath.Base(name)
	return strings.HasPrefix(base, ".") && strings.Contains(base, ".tmp-")
}

// comparable is what two runs of the same command have in common of a file.
func comparable(t *testing.T, name string, data []byte) string {
	if strings.HasSuffix(name, ".jsonl") && bytes.Contains(data, []byte(`"hgld_edits"`)) {
		return editsOf(t, data)
	}
	if filepath.Base(name) == journalFile { // the steps; the other lines tell which process took them
		return strings.Join(steps.FindAllString(moments.ReplaceAllString(string(data), `"$1":-`), -1), "\n")
	}
	if ext := filepath.Ext(name); ext == ".json" || ext == ".jsonl" || ext == ".html" {
		return moments.ReplaceAllString(string(data), `"$1":-`)
	}
	return string(data)
}

// editsOf lists the edits of a log, a line each, without their times.
func editsOf(t *testing.T, data []byte) string {
	f := must.Get(os.CreateTemp("", "log-*.jsonl"))(t)
	defer os.Remove(f.Name())
	must.Get(f.Write(data))(t)
	must.Do(t, f.Close())
	c, err := curate.ReadLog(f.Name())
	if err != nil {
		return "unreadable: " + err.Error()
	}
	var b strings.Builder
	for _, e := range c.Edits {
		e.At = time.Time{}
		fmt.Fprintf(&b, "%+v\n", e)
	}
	return b.String()
}
