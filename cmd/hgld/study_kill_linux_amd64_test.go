package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
)

// killedStudyText is a study of two losses with so many steps, rates and seeds.
const killedStudyText = `hgld_study: 1
title: Two losses
train:
  data: shards
  hold_out: 0.5
  input: {size: 16, resize: 18}
  model: {dim: 8, backbone: {settings: {widths: [8, 8], strides: [2, 2]}}}
  sampler: {batch: 8, m: 4}
  steps: %d
  run: {checkpoint: 1, evaluate: 5, keep: 2, metrics: [R@1, H-AP]}
vary:
  loss: {Smooth-AP: {loss: smooth-ap}, HAPPIER: {loss: happier}}
  optim.lr: %s
seeds: %s
metrics: [R@1_level0, H-AP]
comparisons: [{title: HAPPIER orders the levels better, from: Smooth-AP, metrics: [H-AP], expect: higher}]
`

// killedStudyFigure is left out of the short form, where drawing takes longer than all else.
const killedStudyFigure = "figures: [{title: H-AP over the rate, x: optim.lr, by: loss, metrics: [H-AP]}]\n"

// strikes are the files of a run whose appearance brings a kill: its weights are being written, its result is there
// and the report is being written, it begins, it was evaluated.
var strikes = []string{"checkpoints", "eval.json", "run.yaml", "best.json"}

// TestKilledStudyEndsWithTheSameBytes kills the process of a study in several of its runs, and trains another one by
// four tasks of an array job, two at once. Both end with the files of a study that was left in peace. Of those, only
// these may differ: the lock, which names the last process; events.jsonl and tensorboard, which have the time of
// each step, although the steps of events.jsonl are compared without it.
func TestKilledStudyEndsWithTheSameBytes(t *testing.T) {
	kills, limit, text := 2, "600", fmt.Sprintf(killedStudyText, 10, "[1.0e-3, 1.0e-2]", "[1]")
	if effort.Long() {
		kills, limit = 10, "0"
		text = fmt.Sprintf(killedStudyText, 100, "[1.0e-3, 1.0e-2]", "[1, 2, 3]") + killedStudyFigure
	}
	dir, data := t.TempDir(), filepath.Join(goldens.Shared(t), "data", "grocery128")
	testfile.Write(t, dir, "study.yaml", text)
	mustRun(t, dir, "shards", "build", "--quiet", "--input", filepath.Join(data, "manifest.csv"), "--images",
		filepath.Join(data, "grocery128.zip"), "--levels", "fine,coarse,top", "--limit", limit)
	// Each study has a folder of its own, since eval.json has the path of its run from there.
	folders := map[string]string{}
	for _, name := range []string{"whole", "killed", "sliced"} {
		folders[name] = filepath.Join(dir, name)
		must.Do(t, os.Mkdir(folders[name], 0o755))
	}
	began := time.Now()
	mustRun(t, folders["whole"], "study", "run", "../study.yaml")
	runs := runsOfStudy(t, folders["whole"])
	took := time.Since(began)
	t.Logf("%d runs in peace: %.0f s", len(runs), took.Seconds())

	random := rand.New(rand.NewPCG(uint64(kills), 31))
	for kill := range kills {
		run, file := runs[kill*len(runs)/kills], strikes[kill%len(strikes)]
		wait := time.Duration(random.Int64N(int64(took) / int64(4*len(runs))))
		killStudy(t, folders["killed"], filepath.Join("studies", "study", "runs", run, file), wait)
		status := strings.TrimSpace(mustRun(t, folders["killed"], "study", "run", "--dry-run", "../study.yaml"))
		t.Logf("kill %d, %.3f s after %s of %s: %s", kill+1, wait.Seconds(), file, run,
			status[strings.LastIndex(status, "\n")+1:])
	}
	mustRun(t, folders["killed"], "study", "run", "../study.yaml")

	began = time.Now()
	tasksOfStudy(t, folders["sliced"], 4)
	mustRun(t, folders["sliced"], "study", "report", "../study.yaml")
	t.Logf("by four tasks, two at once: %.0f s", time.Since(began).Seconds())

	want := resultsOfStudy(t, folders["whole"])
	for _, name := range []string{"killed", "sliced"} {
		if got := resultsOfStudy(t, folders[name]); !maps.Equal(got, want) {
			t.Errorf("%s: %s", name, differing(want, got))
		}
	}
	t.Logf("%d files of each are equal", len(want))
}

// runsOfStudy names the runs of the study in their order.
func runsOfStudy(t *testing.T, dir string) (names []string) {
	t.Helper()
	var status struct {
		Runs []struct{ Run struct{ Name string } }
	}
	text := mustRun(t, dir, "study", "run", "--dry-run", "--json", "../study.yaml")
	if err := json.Unmarshal([]byte(text), &status); err != nil || len(status.Runs) == 0 {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, r := range status.Runs {
		names = append(names, r.Run.Name)
	}
	return names
}

// killStudy trains the study in a folder until a file is there, waits, and kills the process.
func killStudy(t *testing.T, dir, file string, wait time.Duration) {
	t.Helper()
	cmd, out := hgldIn(t, dir, "study", "run", "../study.yaml")
	must.Do(t, cmd.Start())
	end := time.Now().Add(2 * time.Minute)
	for ; time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			break
		}
	}
	time.Sleep(wait)
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGKILL {
		t.Fatalf("%s: the process was not killed: %v\n%s", file, err, out)
	}
}

// tasksOfStudy trains the study in a folder by the tasks of an array job, two at once.
func tasksOfStudy(t *testing.T, dir string, tasks int) {
	t.Helper()
	places := make(chan struct{}, 2)
	ends := make(chan error)
	for id := range tasks {
		cmd, out := hgldIn(t, dir, "study", "run", "--slice", "auto", "../study.yaml")
		for name, value := range map[string]int{"ID": id + 1, "MIN": 1, "MAX": tasks, "COUNT": tasks} {
			cmd.Env = append(cmd.Env, fmt.Sprintf("SLURM_ARRAY_TASK_%s=%d", name, value))
		}
		go func() {
			places <- struct{}{}
			err := cmd.Run()
			<-places
			if err != nil {
				err = fmt.Errorf("task %d: %w\n%s", id+1, err, out)
			}
			ends <- err
		}()
	}
	for range tasks {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
}

// resultsOfStudy are the files that studies in a folder leave, but for those that tell when they were trained. Of
// the journals it has the steps.
func resultsOfStudy(t *testing.T, dir string) map[string]string {
	t.Helper()
	results := map[string]string{}
	for name, data := range takeSnapshot(t, dir).without(passing...) {
		results[name] = string(data)
		if filepath.Base(name) == journalFile {
			results[name] = comparable(t, name, data)
		}
	}
	return results
}
