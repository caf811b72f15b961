package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"hgld/internal/pipeline"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
	"hgld/labels"
	"hgld/scrape"
)

// projectHere makes the current folder of the test a project with this hgld.yaml.
func projectHere(t *testing.T, text string) *job {
	t.Helper()
	t.Chdir(t.TempDir())
	testfile.Write(t, ".", projectFile, text)
	p := must.Get(stages().Open(""))(t)
	return &job{project: p}
}

// recorded records a result of the stage train with changed settings and returns what
// status then says.
func recorded(t *testing.T, j *job, s pipeline.Stage, retryable bool, change func(*trainSettings)) pipeline.State {
	t.Helper()
	load := func() *trainSettings {
		own := must.Get(trainStage().Load(j.project, nil))(t)
		return own
	}
	changed := load()
	change(changed)
	in, out := s.Files(changed)
	before := must.Get(stages().Fingerprint(in))(t)
	must.Do(t, s.Record(j, changed, before, out, retryable))
	st := must.Get(s.State(j.project, load()))(t)
	return st
}

func TestStampIsOfTheProjectsOwnResult(t *testing.T) {
	j := projectHere(t, "train:\n  steps: 9\n")
	testfile.Write(t, "runs/default", "events.jsonl", "{}\n")
	testfile.Write(t, "shards", "MANIFEST.json", "{}\n")
	s := trainStage().Stage
	same := func(*trainSettings) {}
	if st := recorded(t, j, s, false, same); st.State != "done" {
		t.Fatalf("%s: %s, want done", st.State, st.Why)
	}
	elsewhere := func(s *trainSettings) { s.Out, s.Loss.Name = "runs/trial", "happier" }
	if st := recorded(t, j, s, false, elsewhere); st.State != "done" {
		t.Errorf("a run into another folder makes it %s: %s", st.State, st.Why)
	}
	resolve := func(s *trainSettings) { s.Input.Mean = [3]float32{0.485, 0.456, 0.406} }
	if st := recorded(t, j, s.Continued(), false, resolve); st.State != "done" {
		t.Errorf("a run that goes on with its own settings makes it %s: %s", st.State, st.Why)
	}
	st := recorded(t, j, s, false, resolve)
	if st.State != "done" || len(st.Given) != 1 || st.Given[0].Key != "input.mean" {
		t.Errorf("%+v: want done, since hgld.yaml does not set what the run was given", st)
	}
	shorter := func(s *trainSettings) { s.Steps = 5 }
	if st := recorded(t, j, s, false, shorter); st.State != "stale" || st.Why != "its settings changed: steps: 9 (was 5)" {
		t.Errorf("%+v", st)
	}
	if st := recorded(t, j, s, true, same); st.State != "stale" || st.Why != "some items failed last time" {
		t.Errorf("%s: %s, want stale after a failure that may pass", st.State, st.Why)
	}
	j.limit = 5
	if st := recorded(t, j, s, false, same); st.State != "trial" || !st.Good(5) || st.Good(6) || st.Good(0) {
		t.Errorf("%+v, want a trial that is good for --limit 5 alone", st)
	}
}

func TestScrapeWithRetryableFailuresIsNotDone(t *testing.T) {
	j := &job{json: true, stdout: io.Discard}
	for outcome, want := range map[labels.Outcome]bool{labels.Retryable: true, labels.Failed: false} {
		err := printScrape(j, &scrapeSettings{}, &scrape.Report{Failed: []scrape.Failure{{Outcome: outcome}}})
		if exitCode(err) != exitSomeFailed || isRetryable(err) != want {
			t.Errorf("%s: %v, repeatable %v, want %v", outcome, err, isRetryable(err), want)
		}
	}
}

func TestStageWatchesTheWeightsItStartsFrom(t *testing.T) {
	j := projectHere(t, "train:\n  model: {weights: resnet.safetensors}\n")
	testfile.Write(t, "runs/default", "events.jsonl", "{}\n")
	testfile.Write(t, ".", "resnet.safetensors", "one")
	s := trainStage().Stage
	if st := recorded(t, j, s, false, func(*trainSettings) {}); st.State != "done" {
		t.Fatalf("%s: %s, want done", st.State, st.Why)
	}
	testfile.Write(t, ".", "resnet.safetensors", "two")
	settings := must.Get(trainStage().Load(j.project, nil))(t)
	if st, err := s.State(j.project, settings); err != nil || st.Why != "resnet.safetensors changed since" {
		t.Errorf("%s: %s, error %v", st.State, st.Why, err)
	}
	must.Do(t, os.Remove("resnet.safetensors"))
	if in, _ := s.Files(settings); !slices.Contains(pipeline.Missing(in), "resnet.safetensors") {
		t.Error("weights that are gone are not missed")
	}
	testfile.Write(t, "runs/default", "checkpoints/step-00000005/SHA256SUMS", "abc  model.safetensors\n")
	if in, _ := s.Files(settings); slices.Contains(pipeline.Missing(in), "resnet.safetensors") {
		t.Error("a run with a checkpoint cannot go on without the weights that it began with")
	}
}

func TestRunFileLeavesNoStampOutsideAProject(t *testing.T) {
	t.Chdir(t.TempDir())
	testfile.Write(t, ".", "run.yaml", "steps: 7\nout: here\n")
	p := must.Get(stages().Open(""))(t)
	settings := trainStage().Defaults()
	must.Do(t, p.UseFile("train", "run.yaml", settings))
	must.Do(t, trainStage().Record(&job{project: p}, settings, nil, []string{"here"}, false))
	if _, err := os.Stat(".hgld"); err == nil {
		t.Error("a folder that is no project has .hgld")
	}
}

func TestNextCommandNamesTheProjectThatWasAskedFor(t *testing.T) {
	j := projectHere(t, "hgld: 1\n")
	states := must.Get(j.project.States(0))(t)
	j.project.Asked = "elsewhere"
	if next := nextCommand(j.project, states); !strings.Contains(next, "then hgld scrape run -C elsewhere (") {
		t.Errorf("next: %s", next)
	}
}
