package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// A head is trained on vectors of another model, held out by class, and exported.
func TestHeadOnFrozenVectors(t *testing.T) {
	embeddingFiles(t)
	head := []string{"train", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--hold-out", "0.3", "-o", "steps=6",
		"-o", "model.dim=4", "-o", "loss=happier", "-o", "sampler.batch=16", "--out", "runs/head"}
	code, out, errs := run(t, head...)
	if code != 0 || !strings.Contains(out, "before training, the input vectors: 15 queries") ||
		!strings.Contains(out, "step 6, validation") ||
		!strings.Contains(errs, "training vectors with happier on 45 vectors of e.npy") {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	const components = "the projection starts from principal components of 45 vectors"
	if !strings.Contains(errs, components) {
		t.Errorf("a linear head does not start from principal components:\n%s", errs)
	}
	// A run that an older hgld began with random weights keeps them.
	former := append(slices.Clone(head[:len(head)-1]), "runs/former")
	_, _, errs = run(t, append(slices.Clone(former), "-o", "model.projection=")...)
	if strings.Contains(errs, components) {
		t.Errorf("a random projection:\n%s", errs)
	}
	if code, _, errs = run(t, former...); code != 0 || !strings.Contains(errs, "nothing is left to do") {
		t.Errorf("a former run again: exit code %d\n%s", code, errs)
	}
	before := must.Get(readResultFile("runs/head/before.json"))(t)
	if !strings.Contains(out, "after training − before training") || before.PerQuery == nil || before.On != "validation" {
		t.Errorf("the head is not compared with its input, query by query:\n%s", out)
	}
	for _, part := range []string{out, errs} {
		if strings.Contains(part, "image") {
			t.Errorf("a head on vectors speaks of images:\n%s", part)
		}
	}
	if code, out, errs = run(t, append(head[:len(head):len(head)], "--dry-run")...); code != 0 ||
		strings.Contains(out+errs, "image") ||
		!strings.Contains(out, "vectors     45, classes [9 3], 6 steps of 16 vectors, 2 an epoch") {
		t.Errorf("the dry run: exit code %d\n%s%s", code, out, errs)
	}
	if code, _, errs = run(t, head...); code != 0 || !strings.Contains(errs, "nothing is left to do") {
		t.Errorf("again: exit code %d\n%s", code, errs)
	}
	if code, _, errs = run(t, "eval", "run", "--run", "runs/head"); code != 0 || !strings.Contains(errs, "e.npy") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	code, _, errs = run(t, "train", "export", "--run", "runs/head", "head.onnx", "head.safetensors")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	onnx, err := os.ReadFile("head.onnx")
	if err != nil || !strings.Contains(string(onnx), "vectors") || strings.Contains(string(onnx), "images") {
		t.Errorf("the graph has no input called vectors, or one of images (%v)", err)
	}
	for want, args := range map[string][]string{
		"needs labels":                  {"--embeddings", "e.npy"},
		"e.parquet has no column split": {"--embeddings", "e.parquet", "--query", "test"},
		"of the split \"dev\", only of": {"--embeddings", "e.npy", "--labels", "split.csv", "--query", "dev"},
		"which reads images":            {"--embeddings", "e.parquet", "-o", "model.backbone=resnet18"},
		"leaves one side without":       {"--embeddings", "e.parquet", "--hold-out", "0.001"},
		"e.npy has 60 vectors, but few": {"--embeddings", "e.npy", "--labels", "few.csv"},
	} {
		must.Do(t, os.WriteFile("few.csv", []byte("landmark,kind\na,b\n"), 0o644))
		vectorSplits(t)
		args = append([]string{"train", "run", "--out", "runs/other"}, args...)
		says(t, exitUsage, want, args...)
	}
}

// vectorSplits writes split.csv: the labels of embeddingFiles with splits. The test has the landmarks 0 to 2, and
// the split hidden, of the landmarks 3 to 5, lacks kinds.
func vectorSplits(t *testing.T) {
	t.Helper()
	table := "id,landmark,kind,split\n"
	for i := range 60 {
		split, kind := "train", fmt.Sprint("k", i%3)
		switch {
		case i%12 < 3:
			split = "test"
		case i%12 < 6:
			split, kind = "hidden", ""
		}
		table += fmt.Sprintf("img%d,l%d,%s,%s\n", i, i%12, kind, split)
	}
	must.Do(t, os.WriteFile("split.csv", []byte(table), 0o644))
}

// The column split of the labels says which vectors are trained on and which are the test.
func TestVectorsHaveSplits(t *testing.T) {
	embeddingFiles(t)
	vectorSplits(t)
	for splits, vectors := range map[string]int{"train": 30, "train,hidden": 45} {
		out := "runs/" + splits
		code, _, errs := run(t, "train", "run", "--embeddings", "e.npy", "--labels", "split.csv", "--levels", "landmark,kind",
			"-o", "splits="+splits, "--query", "test", "-o", "partial_labels=keep", "-o", "steps=3", "-o", "model.dim=4",
			"-o", "loss=happier",
			"-o", "sampler.batch=16", "--out", out)
		if want := fmt.Sprintf("on %d vectors of e.npy", vectors); code != 0 || !strings.Contains(errs, want) {
			t.Fatalf("exit code %d, want %q\n%s", code, want, errs)
		}
		if code, table, errs := run(t, "eval", "run", "--run", out); code != 0 || !strings.Contains(table, "15 queries") {
			t.Errorf("exit code %d\n%s%s", code, table, errs)
		}
	}
}

// Vectors with their finest class alone are uneven too, but only those that are trained on need partial_labels.
func TestTrainedVectorsNeedEveryLevel(t *testing.T) {
	embeddingFiles(t)
	vectorSplits(t)
	dry := func(splits string) []string {
		return []string{"train", "run", "--dry-run", "--embeddings", "e.npy", "--labels", "split.csv", "--levels",
			"landmark,kind", "-o", "splits=" + splits, "--query", "test", "-o", "sampler.batch=16", "--out", "runs/dry"}
	}
	if code, _, errs := run(t, dry("train")...); code != 0 {
		t.Errorf("all rows of the split have both levels: exit code %d\n%s", code, errs)
	}
	code, _, errs := run(t, dry("train,hidden")...)
	for _, want := range []string{"split.csv: img3: kind is empty; want a class at every level\n", "partial_labels"} {
		if code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("exit code %d, want %q\n%s", code, want, errs)
		}
	}
	table := "landmark,kind\na,\na,k\n" + strings.Repeat("b,m\n", 58)
	must.Do(t, os.WriteFile("l.csv", []byte(table), 0o644))
	code, _, errs = run(t, "train", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--out", "runs/dry")
	if code != exitUsage || !strings.Contains(errs, `has two parents: none`) || !strings.Contains(errs, "partial_labels") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

// A run for each seed is trained, the same command keeps the finished ones, and the table has their
// mean and its interval.
func TestSeedsTrainARunEach(t *testing.T) {
	embeddingFiles(t)
	head := []string{"train", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--hold-out", "0.3", "-o", "steps=3",
		"-o", "model.dim=4", "-o", "model.projection=random", "-o", "sampler.batch=16", "--out", "runs/head", "-o", "seed=7"}
	succeeds(t, append(head, "--seeds", "2")...)
	before := must.Get(os.ReadFile("runs/head-seed8/events.jsonl"))(t)
	code, out, errs := run(t, append(head, "--seeds", "3")...)
	if code != 0 || strings.Count(errs, "nothing is left to do") != 2 || !strings.Contains(errs, "runs/head-seed9") ||
		!strings.Contains(out, "over 3 runs, and Student's 95 % interval") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if after, err := os.ReadFile("runs/head-seed8/events.jsonl"); err != nil || string(after) != string(before) {
		t.Errorf("a finished seed was trained again (%v)", err)
	}
	low, high := 200.0, -100.0
	sum := 0.0
	for _, dir := range []string{"runs/head-seed7", "runs/head-seed8", "runs/head-seed9"} {
		v := 100 * readResult(t, dir+"/eval.json").Mean("H-AP")
		low, high, sum = min(low, v), max(high, v), sum+v
	}
	if want := fmt.Sprintf("%.2f ± ", sum/3); low == high || !strings.Contains(out, want) {
		t.Errorf("the values lie in %v to %v, and the table has no %q:\n%s", low, high, want, out)
	}
	code, _, errs = run(t, append(head, "--seeds", "0")...)
	if code != exitUsage || !strings.Contains(errs, "from 1 to 1000") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}
