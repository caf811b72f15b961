package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"hgld/internal/exitcode"
	"hgld/labels"
	"hgld/scrape"
)

// projectHere makes the current folder of the test a project with this hgld.yaml.
func projectHere(t *testing.T, text string) *job {
	t.Helper()
	t.Chdir(t.TempDir())
	p := &project{dir: ".", file: projectFile, sections: map[string]*yaml.Node{}, given: map[string]given{}, origin: map[string]string{}}
	if err := p.parse([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return &job{project: p}
}

// recorded runs record for the stage train with changed settings and returns what
// status then says.
func recorded(t *testing.T, j *job, s stage, repeatable bool, change func(*trainSettings)) state {
	t.Helper()
	settings := s.settings().(*trainSettings)
	if err := j.project.load(nil, s.name, settings); err != nil {
		t.Fatal(err)
	}
	change(settings)
	in, out := s.files(settings)
	before, err := fingerprint(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.record(j, settings, before, out, repeatable); err != nil {
		t.Fatal(err)
	}
	own := s.settings()
	if err := j.project.load(nil, s.name, own); err != nil {
		t.Fatal(err)
	}
	st, err := s.stateOf(j.project, own)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func TestStampIsOfTheProjectsOwnResult(t *testing.T) {
	j := projectHere(t, "train:\n  steps: 9\n")
	writeIn(t, "runs/default", "events.jsonl", "{}\n")
	writeIn(t, "shards", "MANIFEST.json", "{}\n")
	s := trainStage()
	same := func(*trainSettings) {}
	if st := recorded(t, j, s, false, same); st.State != "done" {
		t.Fatalf("%s: %s, want done", st.State, st.Why)
	}
	if st := recorded(t, j, s, false, func(s *trainSettings) { s.Out, s.Loss.Name = "runs/trial", "happier" }); st.State != "done" {
		t.Errorf("a run into another folder makes it %s: %s", st.State, st.Why)
	}
	resolve := func(s *trainSettings) { s.Input.Mean = [3]float32{0.485, 0.456, 0.406} }
	if st := recorded(t, j, s.goingOn(), false, resolve); st.State != "done" {
		t.Errorf("a run that goes on with its own settings makes it %s: %s", st.State, st.Why)
	}
	if st := recorded(t, j, s, false, resolve); st.State != "stale" || st.Why != "its settings changed: input.mean: [0, 0, 0] (was [0.485, 0.456, 0.406])" {
		t.Errorf("%s: %s", st.State, st.Why)
	}
	if st := recorded(t, j, s, true, same); st.State != "stale" || st.Why != "some items failed last time" {
		t.Errorf("%s: %s, want stale after a failure that may pass", st.State, st.Why)
	}
	j.limit = 5
	if st := recorded(t, j, s, false, same); st.State != "trial" || !st.good(5) || st.good(6) || st.good(0) {
		t.Errorf("%+v, want a trial that is good for --limit 5 alone", st)
	}
}

func TestScrapeThatMayDoBetterNextTimeIsNotDone(t *testing.T) {
	j := &job{json: true, stdout: io.Discard}
	for outcome, want := range map[labels.Outcome]bool{labels.Retryable: true, labels.Failed: false} {
		err := printScrape(j, &scrapeSettings{}, &scrape.Report{Failed: []scrape.Failure{{Outcome: outcome}}})
		if exitCode(err) != exitSomeFailed || exitcode.IsRetryable(err) != want {
			t.Errorf("%s: %v, repeatable %v, want %v", outcome, err, exitcode.IsRetryable(err), want)
		}
	}
}

func TestStageWatchesTheWeightsItStartsFrom(t *testing.T) {
	j := projectHere(t, "train:\n  model: {weights: resnet.safetensors}\n")
	writeIn(t, "runs/default", "events.jsonl", "{}\n")
	writeIn(t, ".", "resnet.safetensors", "one")
	s := trainStage()
	if st := recorded(t, j, s, false, func(*trainSettings) {}); st.State != "done" {
		t.Fatalf("%s: %s, want done", st.State, st.Why)
	}
	writeIn(t, ".", "resnet.safetensors", "two")
	settings := s.settings().(*trainSettings)
	if err := j.project.load(nil, s.name, settings); err != nil {
		t.Fatal(err)
	}
	if st, err := s.stateOf(j.project, settings); err != nil || st.Why != "resnet.safetensors changed since" {
		t.Errorf("%s: %s, error %v", st.State, st.Why, err)
	}
	if err := os.Remove("resnet.safetensors"); err != nil {
		t.Fatal(err)
	}
	if in, _ := s.files(settings); !slices.Contains(missing(in), "resnet.safetensors") {
		t.Error("weights that are gone are not missed")
	}
	writeIn(t, "runs/default", "checkpoints/step-00000005/SHA256SUMS", "abc  model.safetensors\n")
	if in, _ := s.files(settings); slices.Contains(missing(in), "resnet.safetensors") {
		t.Error("a run with a checkpoint cannot go on without the weights that it began with")
	}
}

func TestRunFileLeavesNoStampOutsideAProject(t *testing.T) {
	t.Chdir(t.TempDir())
	writeIn(t, ".", "run.yaml", "steps: 7\nout: here\n")
	p := &project{sections: map[string]*yaml.Node{}, given: map[string]given{}, origin: map[string]string{}}
	settings := trainStage().settings().(*trainSettings)
	if err := p.useFile("train", "run.yaml", settings); err != nil {
		t.Fatal(err)
	}
	if err := trainStage().record(&job{project: p}, settings, nil, []string{"here"}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(".hgld"); err == nil {
		t.Error("a folder that is no project has .hgld")
	}
}

func TestStageComesAfterTheWriterOfAFolderAroundItsInput(t *testing.T) {
	outputs := map[string]string{filepath.Join("runs", "happier"): "train", "shards": "shards"}
	for path, want := range map[string]string{
		"runs/happier": "train", "runs/happier/checkpoints/step-00000005": "train", "runs/happier-2": "", "runs": "", "shards": "shards", "": "",
	} {
		if got := writerOf(outputs, filepath.FromSlash(path)); got != want {
			t.Errorf("%q is written by %q, want %q", path, got, want)
		}
	}
}

func TestNextCommandNamesTheProjectThatWasAskedFor(t *testing.T) {
	j := projectHere(t, "hgld: 1\n")
	states, err := j.project.states(0)
	if err != nil {
		t.Fatal(err)
	}
	j.project.asked = "elsewhere"
	if next := j.project.nextStep(states); !strings.Contains(next, "then hgld scrape run -C elsewhere (") {
		t.Errorf("next: %s", next)
	}
}
