package pipeline

import (
	"path/filepath"
	"testing"
)

func TestStageComesAfterTheWriterOfAFolderAroundItsInput(t *testing.T) {
	outputs := map[string]string{filepath.Join("runs", "happier"): "train", "shards": "shards"}
	for path, want := range map[string]string{
		"runs/happier": "train", "runs/happier/checkpoints/step-00000005": "train", "runs/happier-2": "",
		"runs": "", "shards": "shards", "": "",
	} {
		if got := writerOf(outputs, filepath.FromSlash(path)); got != want {
			t.Errorf("%q is written by %q, want %q", path, got, want)
		}
	}
}
