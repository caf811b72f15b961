package pipeline

import (
	"errors"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
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

// A stage depends on the inputs that another input names. It fails if that input cannot be
// read.
func TestIndirectInputsMakeAStageStale(t *testing.T) {
	a := spec("a", "table")
	folder, broken := "photos", error(nil)
	a.Found = func(*files) ([]string, error) { return []string{folder}, broken }
	j := projectHere(t, "{}\n", a)
	p := j.options.Project
	testfile.Write(t, ".", "table", "x")
	testfile.Write(t, "photos", "1.jpg", "x")
	must.Do(t, Run(j, p.pipeline.Stages))
	testfile.Write(t, "photos", "2.jpg", "x")
	if list, err := p.States(0); err != nil || list[0].State != Stale || list[0].Why != "photos changed since" {
		t.Errorf("%+v, %v: want stale for its photos", list, err)
	}
	broken = errors.New("table cannot be read")
	if _, err := p.States(0); err == nil || err.Error() != "a run: table cannot be read" {
		t.Errorf("status: %v", err)
	}
	if err := p.pipeline.Stages[0].Execute(j, &files{In: "table", Out: "a.txt"}); err == nil {
		t.Error("the stage runs although its inputs are not known")
	}
}
