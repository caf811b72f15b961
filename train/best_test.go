package train

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/train/device/cpu"
	"hgld/train/input"
	"hgld/train/retrieval"
)

// watchedRun is a training that is evaluated every third step on classes that were
// held out of it, and again on a test.
func watchedRun(t *testing.T) (Config, Data) {
	t.Helper()
	c, d := tiny(24)
	c.Sampler.Batch = 8
	c.Run.Evaluate, c.Run.Checkpoint, c.Run.Keep = 3, 4, 1
	rest, held, err := input.HoldOut(d, 0.25, 1)
	if err != nil {
		t.Fatal(err)
	}
	return c, Data{Train: rest, Validation: held, Query: d}
}

func TestBestCheckpointIsTheOneWithTheHighestMetric(t *testing.T) {
	c, data := watchedRun(t)
	dir := t.TempDir()
	var best, newest Event
	tests := 0
	for _, e := range mustTrain(t, c, data, Options{Dir: dir}) {
		switch {
		case e.Kind == Evaluated && e.On == watchTest:
			tests++
			if e.Step != 24 || e.Best {
				t.Errorf("the test was measured at step %d, best: %v", e.Step, e.Best)
			}
		case e.Kind == Evaluated:
			if e.Step%3 != 0 {
				t.Errorf("evaluated at step %d", e.Step)
			}
			higher := best.Result == nil || e.Result.Mean("H-AP") > best.Result.Mean("H-AP")
			if e.Best != higher {
				t.Errorf("step %d: best is %v, and the metric says %v", e.Step, e.Best, higher)
			}
			if newest = e; e.Best {
				best = e
			}
		}
	}
	if tests != 1 {
		t.Errorf("the test was measured %d times", tests)
	}
	got, err := ReadBest(dir)
	want := Best{Version: 1, Metric: "H-AP", Value: retrieval.Number(best.Result.Mean("H-AP")), On: watchValidation,
		Step: best.Step, Checkpoint: filepath.ToSlash(checkpointName(best.Step)), Evaluated: 24,
		Newest: retrieval.Number(newest.Result.Mean("H-AP"))}
	if err != nil || got != want {
		t.Errorf("best is %+v, %v; want %+v", got, err, want)
	}
	list, err := checkpoints(dir)
	if most := 2; err != nil || len(list) > most { // the newest, and the best
		t.Errorf("%v stay, %v; want at most %d", list, err, most)
	}
	m, err := Open(filepath.Join(dir, got.Checkpoint), cpu.New(1), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	again, err := m.Evaluate(context.Background(), data.Validation, nil, retrieval.Evaluation{Metrics: hierarchical(t)})
	if err != nil || again.Mean("H-AP") != float64(got.Value) {
		t.Errorf("the best checkpoint has H-AP %v, %v; best.json says %v", again.Mean("H-AP"), err, got.Value)
	}
}

// What a stopped run has evaluated, and what it still has to, is known to the next.
func TestResumedRunFindsTheSameBest(t *testing.T) {
	c, data := watchedRun(t)
	whole, parts := t.TempDir(), t.TempDir()
	var want []Event
	for _, e := range mustTrain(t, c, data, Options{Dir: whole}) {
		if e.Kind == Evaluated {
			want = append(want, e)
		}
	}
	seen := map[int]Event{}
	for _, stop := range []int{4, 9, 12, 13, 22} {
		ctx, cancel := context.WithCancel(context.Background())
		r, err := New(c, data, Options{Dir: parts, Backend: cpu.New(1)})
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range r.Events(ctx) {
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if e.Kind == Evaluated {
				seen[e.Step] = e
			}
			if e.Step >= stop {
				cancel()
			}
		}
		cancel()
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range mustTrain(t, c, data, Options{Dir: parts}) {
		if e.Kind == Evaluated && e.On == watchValidation {
			seen[e.Step] = e
		}
	}
	for _, e := range want {
		if e.On == watchValidation && (seen[e.Step].Result == nil || seen[e.Step].Best != e.Best ||
			seen[e.Step].Result.Mean("H-AP") != e.Result.Mean("H-AP")) {
			t.Errorf("step %d: %+v, in one go %+v", e.Step, seen[e.Step], e)
		}
	}
	a, err := ReadBest(whole)
	b, err2 := ReadBest(parts)
	if errors.Join(err, err2) != nil || a != b {
		t.Errorf("best is %+v, in one go %+v (%v, %v)", b, a, err, err2)
	}
	sameWeights(t, "stopped five times", whole, parts)
}

func TestTrialDoesNotChooseTheBest(t *testing.T) {
	c, data := watchedRun(t)
	whole, parts := t.TempDir(), t.TempDir()
	mustTrain(t, c, data, Options{Dir: whole})
	for _, limit := range []int{1, 5, 11} {
		for _, e := range mustTrain(t, c, data, Options{Dir: parts, Limit: limit}) {
			if e.Best && e.Step%3 != 0 {
				t.Errorf("the trial of %d steps ended with the best so far", e.Step)
			}
		}
	}
	mustTrain(t, c, data, Options{Dir: parts})
	a, err := ReadBest(whole)
	b, err2 := ReadBest(parts)
	if errors.Join(err, err2) != nil || a != b {
		t.Errorf("best is %+v, in one go %+v (%v, %v)", b, a, err, err2)
	}
}

func TestTheTestIsNotWatchedUnlessAsked(t *testing.T) {
	c, d := tiny(6)
	c.Run.Evaluate = 2
	_, err := trainAll(t, context.Background(), c, Data{Train: d, Query: d}, Options{Dir: t.TempDir()})
	if !errors.As(err, new(*ConfigError)) || !strings.Contains(err.Error(), "run.watch=test") {
		t.Errorf("evaluation during the training without validation: error %v", err)
	}
	c.Run.Watch = watchTest
	dir := t.TempDir()
	var steps []int
	for _, e := range mustTrain(t, c, Data{Train: d, Query: d}, Options{Dir: dir}) {
		if e.Kind == Evaluated {
			steps = append(steps, e.Step)
		}
	}
	if b, err := ReadBest(dir); !slices.Equal(steps, []int{2, 4, 6}) || err != nil || b.On != watchTest {
		t.Errorf("evaluated at %v, best %+v, %v", steps, b, err)
	}
	if _, err := trainAll(t, context.Background(), c, Data{Train: d}, Options{Dir: t.TempDir()}); err == nil {
		t.Error("a test without images was watched")
	}
}

func TestBestRefusesAMetricThatIsNotMeasured(t *testing.T) {
	c, data := watchedRun(t)
	c.Run.Best = "mAP@R_lvel0"
	_, err := trainAll(t, context.Background(), c, data, Options{Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), `did you mean "mAP@R`) {
		t.Errorf("error %v", err)
	}
	for want, key := range map[string]string{"": "H-AP", "mAP@R": "mAP@R_level0", "AP_level1": "AP_level1"} {
		c.Run.Best = want
		if got, err := c.bestKey([]string{"AP_level0", "AP_level1", "mAP@R_level0", "H-AP"}); got != key || err != nil {
			t.Errorf("run.best %q is %q, %v", want, got, err)
		}
	}
}

func TestDamagedBestIsAnError(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadBest(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	for text, hint := range map[string]string{"{": "damaged", `{"hgld_best": 2}`: "reads up to 1", `{}`: "version 0"} {
		if err := os.WriteFile(filepath.Join(dir, BestFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadBest(dir); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: error %v", text, err)
		}
	}
}
