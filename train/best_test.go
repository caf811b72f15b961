package train

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device/cpu"
	"hgld/train/evaluation"
	"hgld/train/input"
	"hgld/train/retrieval"
)

// watchedRun is a training that is evaluated every third step on classes that were
// held out of it, and again on a test.
func watchedRun(t *testing.T) (config.Config, Data) {
	t.Helper()
	c, d := tiny(24)
	c.Sampler.Batch = 8
	c.Run.Evaluate, c.Run.Checkpoint, c.Run.Keep = 3, 4, 1
	rest, held, err := input.HoldOut(d, 0.25, 1)
	must.Do(t, err)
	return c, Data{Train: rest, Validation: held, Query: d}
}

func TestBestCheckpointIsTheOneWithTheHighestMetric(t *testing.T) {
	c, data := watchedRun(t)
	dir := t.TempDir()
	var best, newest Event
	tests := 0
	for _, e := range mustTrain(t, c, data, Options{Dir: dir}) {
		switch {
		case e.Kind == Evaluated && e.On == config.WatchTest:
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
	got, err := checkpoint.ReadBest(dir)
	want := checkpoint.Best{Version: 1, Metric: "H-AP", Value: retrieval.Number(best.Result.Mean("H-AP")),
		On:   config.WatchValidation,
		Step: best.Step, Checkpoint: filepath.ToSlash(checkpoint.Name(best.Step)), Evaluated: 24,
		Newest: retrieval.Number(newest.Result.Mean("H-AP"))}
	if err != nil || got != want {
		t.Errorf("best is %+v, %v; want %+v", got, err, want)
	}
	list, err := checkpoint.List(dir)
	if most := 2; err != nil || len(list) > most { // the newest, and the best
		t.Errorf("%v stay, %v; want at most %d", list, err, most)
	}
	m, err := evaluation.Open(filepath.Join(dir, got.Checkpoint), cpu.New(1), nil, false)
	must.Do(t, err)
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
		must.Do(t, err)
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
		must.Do(t, r.Close())
	}
	for _, e := range mustTrain(t, c, data, Options{Dir: parts}) {
		if e.Kind == Evaluated && e.On == config.WatchValidation {
			seen[e.Step] = e
		}
	}
	for _, e := range want {
		if e.On == config.WatchValidation && (seen[e.Step].Result == nil || seen[e.Step].Best != e.Best ||
			seen[e.Step].Result.Mean("H-AP") != e.Result.Mean("H-AP")) {
			t.Errorf("step %d: %+v, in one go %+v", e.Step, seen[e.Step], e)
		}
	}
	a, err := checkpoint.ReadBest(whole)
	b, err2 := checkpoint.ReadBest(parts)
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
	a, err := checkpoint.ReadBest(whole)
	b, err2 := checkpoint.ReadBest(parts)
	if errors.Join(err, err2) != nil || a != b {
		t.Errorf("best is %+v, in one go %+v (%v, %v)", b, a, err, err2)
	}
}

func TestTheTestIsNotWatchedUnlessAsked(t *testing.T) {
	c, d := tiny(6)
	c.Run.Evaluate = 2
	_, err := trainAll(t, context.Background(), c, Data{Train: d, Query: d}, Options{Dir: t.TempDir()})
	if !errors.As(err, new(*config.Error)) || !strings.Contains(err.Error(), "run.eval_on=test") {
		t.Errorf("evaluation during the training without validation: error %v", err)
	}
	c.Run.EvalOn = config.WatchTest
	dir := t.TempDir()
	var steps []int
	for _, e := range mustTrain(t, c, Data{Train: d, Query: d}, Options{Dir: dir}) {
		if e.Kind == Evaluated {
			steps = append(steps, e.Step)
		}
	}
	if b, err := checkpoint.ReadBest(dir); !slices.Equal(steps, []int{2, 4, 6}) || err != nil || b.On != config.WatchTest {
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
		if got, err := c.BestKey([]string{"AP_level0", "AP_level1", "mAP@R_level0", "H-AP"}); got != key || err != nil {
			t.Errorf("run.best %q is %q, %v", want, got, err)
		}
	}
}

func TestCourseFollowsTheEvaluations(t *testing.T) {
	nan := retrieval.Number(math.NaN())
	for _, c := range []struct {
		plateau, stop int
		values        []retrieval.Number
		cuts          int
		stops         bool
	}{
		{2, 4, []retrieval.Number{1, 2, 3, 4}, 0, false},
		{2, 4, []retrieval.Number{3, 1, 2}, 1, false},
		{2, 4, []retrieval.Number{3, 3, 3}, 1, false}, // an equal result is no better
		{2, 4, []retrieval.Number{3, 1, 1, 4, 1}, 1, false},
		{2, 4, []retrieval.Number{3, 1, 1, 1, 1}, 2, true},
		{2, 0, []retrieval.Number{3, 1, 1, 1, 1, 1, 1}, 3, false},
		{0, 2, []retrieval.Number{3, nan, 1}, 0, true},
		{0, 2, []retrieval.Number{nan, nan}, 0, true},
		{0, 1, []retrieval.Number{-1}, 0, false},
	} {
		cfg := config.Config{Stop: config.EarlyStop{Patience: c.stop}}
		if c.plateau > 0 {
			cfg.Schedule.Plateau = config.Plateau{Factor: 0.5, Patience: c.plateau}
		}
		var list []checkpoint.Judgement
		for i, v := range c.values {
			list = append(list, checkpoint.Judgement{Step: i + 1, Value: v})
		}
		if cuts, stops := course(&cfg, list); cuts != c.cuts || stops != c.stops {
			t.Errorf("%+v: %d cuts, stops %v", c, cuts, stops)
		}
	}
}

// patientRun soon stops improving, so that it cuts its rates and ends early.
func patientRun() (config.Config, Data) {
	c, d := tiny(100)
	c.Run.Evaluate, c.Run.Checkpoint, c.Run.Keep = 4, 3, 1
	c.Optim.Rate = 1e-2
	c.Schedule = config.Schedule{Named: config.Named{Name: "constant"}, Plateau: config.Plateau{Factor: 0.1, Patience: 1}}
	c.Stop.Patience = 3
	return c, Data{Train: d, Validation: d}
}

// ran sums up the events of a run: the rate of each step, by step, and the last step.
func ran(events []Event, rates map[int]float64) (last int, stopped bool) {
	for _, e := range events {
		last = max(last, e.Step)
		stopped = stopped || e.Kind == Stopped
		if e.Kind == Stepped {
			rates[e.Step] = e.Rate
		}
	}
	return last, stopped
}

// A run that is stopped at any time and resumed cuts its rates and ends at the same steps, with the
// same bytes, as one that was left in peace: also without best.json.
func TestResumedRunIsAsPatient(t *testing.T) {
	c, data := patientRun()
	whole, parts := t.TempDir(), t.TempDir()
	want, got := map[int]float64{}, map[int]float64{}
	end, stopped := ran(mustTrain(t, c, data, Options{Dir: whole, Backend: cpu.New(1)}), want)
	if !stopped || end >= c.Steps || want[end] > 0.11*c.Optim.Rate {
		t.Fatalf("the run ended after step %d, early %v, at a rate of %v; the test wants cuts and an early end", end, stopped,
			want[end])
	}
	for stop := 2; stop < end; stop += 3 { // before, at and after evaluations and checkpoints
		ctx, cancel := context.WithCancel(context.Background())
		r, err := New(c, data, Options{Dir: parts, Backend: cpu.New(1)})
		must.Do(t, err)
		var events []Event
		for e, err := range r.Events(ctx) {
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if events = append(events, e); e.Step >= stop {
				cancel()
			}
		}
		cancel()
		ran(events, got)
		must.Do(t, r.Close())
	}
	last, stopped := ran(mustTrain(t, c, data, Options{Dir: parts, Backend: cpu.New(1)}), got)
	if last != end || !stopped {
		t.Errorf("the resumed run ended after step %d, early %v; want step %d", last, stopped, end)
	}
	for step, rate := range want {
		if got[step] != rate {
			t.Errorf("step %d has rate %v, want %v", step, got[step], rate)
		}
	}
	sameWeights(t, "a resumed run", whole, parts)
	again := mustTrain(t, c, data, Options{Dir: whole, Backend: cpu.New(1)})
	if last, stopped := ran(again, map[int]float64{}); last != end || !stopped {
		t.Errorf("the finished run went on to step %d", last)
	}
}

// A resumed run is judged as before, and a run whose patience would never be tried is refused.
func TestPatienceNeedsItsEvaluations(t *testing.T) {
	c, data := patientRun()
	dir := t.TempDir()
	mustTrain(t, c, data, Options{Dir: dir, Limit: 4})
	other := c
	other.Run.Evaluate = 8
	var refused *checkpoint.ResumeError
	if _, err := trainAll(t, t.Context(), other, data, Options{Dir: dir}); !errors.As(err, &refused) ||
		!strings.Contains(err.Error(), "run.evaluate is 8, the checkpoint has 4") {
		t.Errorf("error %v", err)
	}
	for want, change := range map[string]func(*config.Config, *Data){
		"run.evaluate is 0":            func(c *config.Config, _ *Data) { c.Run.Evaluate = 0 },
		"no validation classes":        func(_ *config.Config, d *Data) { d.Validation = nil },
		"has factor 1 and patience":    func(c *config.Config, _ *Data) { c.Schedule.Plateau.Factor = 1 },
		"has patience 1 and no factor": func(c *config.Config, _ *Data) { c.Schedule.Plateau.Factor = 0 },
	} {
		c, data := patientRun()
		change(&c, &data)
		if _, err := trainAll(t, t.Context(), c, data, Options{}); !errors.As(err, new(*config.Error)) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
