package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/shards"
	"hgld/shards/dataset"
)

func sumOf(t *testing.T, path string) string {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

func TestEvaluationNamesWhatItMeasured(t *testing.T) {
	pictureShards(t)
	succeeds(t, tinyRun("--query", "test")...)
	folder := filepath.Join("runs", "default", "checkpoints", "step-00000012")
	weights := sumOf(t, filepath.Join(folder, "model.safetensors"))
	own, err := readEvaluation("runs/default")
	if err != nil || own.Of == nil {
		t.Fatalf("%+v, %v", own, err)
	}
	code, _, errs := run(t, "eval", "run", "--report", "eval.html")
	if code != 0 || strings.Contains(errs, "has changed") {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	result, err := readResultFile("eval.json")
	if err != nil || result.Of == nil {
		t.Fatalf("%+v, %v", result, err)
	}
	for name, of := range map[string]struct{ got, want string }{
		"run":        {result.Of.Run, "runs/default"},
		"checkpoint": {result.Of.Checkpoint, folder},
		"weights":    {result.Of.Weights, weights},
		"data":       {result.Of.Data, "shards, query test"},
		"of the run": {own.Of.String(), result.Of.String()},
		"changed":    {result.Of.Changed, ""},
	} {
		if of.got != of.want {
			t.Errorf("%s is %q, want %q", name, of.got, of.want)
		}
	}
	if result.Of.Step != 12 || len(result.Of.Images) != 64 {
		t.Errorf("%+v", result.Of)
	}
	page, err := os.ReadFile("eval.html")
	if err != nil || !strings.Contains(string(page),
		"runs/default after 12 steps, weights "+weights[:12]+", data shards, query test") {
		t.Errorf("the report does not name what it is of (%v)", err)
	}
}

// The same classes and names with other pixels: the data have changed, with classes
// held out too.
func TestEvaluationSaysThatTheTrainingsImagesHaveChanged(t *testing.T) {
	for _, held := range []string{"0", "0.25"} {
		pictureShards(t)
		succeeds(t, tinyRun("--query", "test", "--hold-out", held)...)
		others, err := filepath.Glob("pictures/train/*/place[01]/0.png")
		if err != nil || len(others) != 2 {
			t.Fatal(others, err)
		}
		from := must.Get(os.ReadFile(others[0]))(t)
		must.Do(t, os.WriteFile(others[1], from, 0o644))
		must.Do(t, os.RemoveAll("shards"))
		src := must.Get(dataset.Folder{}.Open(t.Context(),
			dataset.Settings{Input: "pictures", Levels: []string{"place", "form"}}))(t)
		must.Get(shards.Build(t.Context(), src, "shards", shards.Options{}))(t)
		src.Close()
		code, _, errs := run(t, "eval", "run", "--query", "test")
		result, err := readResultFile("eval.json")
		if code != 0 || err != nil || !strings.Contains(errs, "shards has changed since the training") ||
			!strings.Contains(result.Of.Changed, "has changed") {
			t.Errorf("hold-out %s: exit code %d, %v\n%s", held, code, err, errs)
		}
		says(t, exitUsage, "the images or labels differ", "train", "resume", "runs/default")
	}
}

func TestEvaluationOfVectorsNamesTheFiles(t *testing.T) {
	embeddingFiles(t)
	succeeds(t, "eval", "run", "--embeddings", "e.npy", "--labels", "l.csv")
	result, err := readResultFile("eval.json")
	if err != nil || result.Of == nil || len(result.Of.Files) != 2 ||
		result.Of.Files[0].SHA256 != sumOf(t, "e.npy") || result.Of.Files[1].Path != "l.csv" {
		t.Errorf("%+v, %v", result.Of, err)
	}
}
