package main

import (
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
)

// printOf is the fingerprint of a path that exists.
func printOf(t *testing.T, path string) string {
	t.Helper()
	prints := must.Get(stages().Fingerprint([]string{path}))(t)
	return prints[path]
}

func TestRunDirectoryIsIdentifiedByItsCheckpoints(t *testing.T) {
	dir := t.TempDir()
	testfile.Write(t, dir, "run.yaml", "steps: 5\n")
	testfile.Write(t, dir, "best.json", "{}")
	testfile.Write(t, dir, "checkpoints/step-00000005/SHA256SUMS", "abc  model.safetensors\n")
	testfile.Write(t, dir, "checkpoints/step-00000005/model.safetensors", "weights")
	was, checkpoint := printOf(t, dir), printOf(t, filepath.Join(dir, "checkpoints", "step-00000005"))
	testfile.Write(t, dir, "lock", "1234")
	testfile.Write(t, dir, "tensorboard/events.out.tfevents.000002", "curves")
	if printOf(t, dir) != was {
		t.Error("a lock and a log make another run")
	}
	testfile.Write(t, dir, "checkpoints/step-00000009/SHA256SUMS", "def  model.safetensors\n")
	if printOf(t, dir) == was {
		t.Error("a new checkpoint goes unnoticed")
	}
	if printOf(t, filepath.Join(dir, "checkpoints", "step-00000005")) != checkpoint {
		t.Error("a checkpoint changes with its neighbours")
	}
	now := printOf(t, dir)
	testfile.Write(t, dir, "run.yaml", "steps: 9\n")
	if printOf(t, dir) == now {
		t.Error("other settings go unnoticed")
	}
}
