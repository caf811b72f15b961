package train

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/filelock"
	"hgld/internal/testing/must"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device/cpu"
	"hgld/train/evaluation"
	"hgld/train/input"
	"hgld/train/retrieval"
	"hgld/train/testing/places"
)

// tiny is a configuration that takes a few milliseconds a step: drawings of 16
// places in four forms, a net of three small convolutions.
func tiny(steps int) (config.Config, *places.Set) {
	c := config.Default()
	c.Input.Size, c.Input.Resize, c.Input.Scale = 16, 18, [2]float64{0.5, 1}
	c.Model.Backbone.Settings = map[string]any{"widths": []int{8, 16, 16}, "strides": []int{2, 2, 1}}
	c.Model.Dim = 16
	c.Sampler.Batch, c.Sampler.M = 16, 4
	c.Optim.Rate = 3e-3
	c.Epochs, c.Steps = 0, steps
	c.Seed = 11
	c.Run.Checkpoint = 0
	return c, &places.Set{Forms: 4, PerForm: 4, Views: 6, Size: 20}
}

// train runs to the end, or to the first error, and returns the events.
func trainAll(t *testing.T, ctx context.Context, c config.Config, data Data, o Options) ([]Event, error) {
	t.Helper()
	if o.Backend == nil {
		o.Backend = cpu.New(2)
	}
	r, err := New(c, data, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var events []Event
	for e, err := range r.Events(ctx) {
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

func mustTrain(t *testing.T, c config.Config, data Data, o Options) []Event {
	t.Helper()
	events, err := trainAll(t, context.Background(), c, data, o)
	must.Do(t, err)
	return events
}

// weights returns the bytes of the newest checkpoint's files, but for the state.
func weights(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	list, err := checkpoint.List(dir)
	if err != nil || len(list) == 0 {
		t.Fatalf("%d checkpoints, %v", len(list), err)
	}
	files := map[string][]byte{}
	for _, name := range []string{checkpoint.ModelFile, checkpoint.OptimizerFile} {
		data, err := os.ReadFile(filepath.Join(list[len(list)-1], name))
		must.Do(t, err)
		files[name] = data
	}
	return files
}

func sameWeights(t *testing.T, what, a, b string) {
	t.Helper()
	want, got := weights(t, a), weights(t, b)
	for name := range want {
		if !bytes.Equal(got[name], want[name]) {
			t.Errorf("%s: %s differs", what, name)
		}
	}
}

func losses(events []Event) (list []float64) {
	for _, e := range events {
		if e.Kind == Stepped {
			list = append(list, *e.Loss)
		}
	}
	return list
}

func TestTrainingLowersTheLossAndRetrievesBetter(t *testing.T) {
	c, d := tiny(80)
	dir := t.TempDir()
	events := mustTrain(t, c, Data{Train: d, Query: d}, Options{Dir: dir})
	l := losses(events)
	mean := func(v []float64) (s float64) {
		for _, x := range v {
			s += x / float64(len(v))
		}
		return s
	}
	if first, last := mean(l[:10]), mean(l[70:]); len(l) != 80 || last > 0.7*first {
		t.Errorf("mean loss of the first ten of %d steps %.3f, of the last ten %.3f", len(l), first, last)
	}
	var trained *retrieval.Result
	for _, e := range events {
		if e.Kind == Evaluated {
			trained = e.Result
		}
	}
	m, err := evaluation.Open(dir, cpu.New(2), nil, true)
	must.Do(t, err)
	defer m.Close()
	before, err := m.Evaluate(context.Background(), d, nil, retrieval.Evaluation{Metrics: hierarchical(t)})
	must.Do(t, err)
	for _, key := range []string{"AP_level0", "H-AP"} {
		if before.Mean(key) >= trained.Mean(key) {
			t.Errorf("%s was %.3f before and is %.3f after", key, before.Mean(key), trained.Mean(key))
		}
	}
}

func TestResumedRunEndsWithTheSameBytes(t *testing.T) {
	c, d := tiny(30)
	whole, stopped := t.TempDir(), t.TempDir()
	want := mustTrain(t, c, Data{Train: d}, Options{Dir: whole})
	// 13 steps end in the middle of an epoch, which has 6 batches.
	mustTrain(t, c, Data{Train: d}, Options{Dir: stopped, Limit: 13})
	got := mustTrain(t, c, Data{Train: d}, Options{Dir: stopped})
	if n := len(losses(got)); n != 17 {
		t.Errorf("%d steps after the stop, want 17", n)
	}
	if !slices.Equal(losses(want)[13:], losses(got)) {
		t.Error("the losses after the stop differ")
	}
	sameWeights(t, "stopped after 13 of 30 steps", whole, stopped)
}

func TestCancelledRunSavesAndGoesOn(t *testing.T) {
	c, d := tiny(20)
	whole, stopped := t.TempDir(), t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: whole})
	for _, at := range []int{1, 7, 15} {
		ctx, cancel := context.WithCancel(context.Background())
		r, err := New(c, Data{Train: d}, Options{Dir: stopped, Backend: cpu.New(2)})
		must.Do(t, err)
		var last error
		saved := false
		for e, err := range r.Events(ctx) {
			last = err
			saved = saved || e.Kind == Saved
			if e.Step == at {
				cancel()
			}
		}
		cancel()
		if !errors.Is(last, context.Canceled) || !saved {
			t.Fatalf("cancelled at step %d: error %v, saved: %v", at, last, saved)
		}
		must.Do(t, r.Close())
	}
	mustTrain(t, c, Data{Train: d}, Options{Dir: stopped})
	sameWeights(t, "stopped three times", whole, stopped)
}

func TestThreadsAndWorkersDoNotChangeTheWeights(t *testing.T) {
	c, d := tiny(12)
	one, two := t.TempDir(), t.TempDir()
	c.Run.Workers, c.Run.Prefetch = 1, 1
	mustTrain(t, c, Data{Train: d}, Options{Dir: one, Backend: cpu.New(1)})
	c.Run.Workers, c.Run.Prefetch = 5, 4
	mustTrain(t, c, Data{Train: d}, Options{Dir: two, Backend: cpu.New(3)})
	sameWeights(t, "1 and 3 threads", one, two)
}

func TestAnotherSeedGivesOtherWeights(t *testing.T) {
	c, d := tiny(2)
	one, two := t.TempDir(), t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: one})
	c.Seed++
	mustTrain(t, c, Data{Train: d}, Options{Dir: two})
	if bytes.Equal(weights(t, one)[checkpoint.ModelFile], weights(t, two)[checkpoint.ModelFile]) {
		t.Error("two seeds, the same weights")
	}
}

func TestFinishedRunOnlyEvaluatesAgain(t *testing.T) {
	c, d := tiny(5)
	dir := t.TempDir()
	first := mustTrain(t, c, Data{Train: d, Query: d}, Options{Dir: dir})
	second := mustTrain(t, c, Data{Train: d, Query: d}, Options{Dir: dir})
	if len(second) != 2 || second[0].Kind != Evaluated || second[1].Kind != Done {
		t.Fatalf("events %+v", second)
	}
	before := first[len(first)-2].Result
	if again := second[0].Result; again.Mean("H-AP") != before.Mean("H-AP") {
		t.Errorf("H-AP %v, then %v", before.Mean("H-AP"), again.Mean("H-AP"))
	}
}

func TestRunRefusesOtherSettingsAndOtherData(t *testing.T) {
	c, d := tiny(4)
	dir := t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
	other := c
	other.Optim.Rate, other.Sampler.M = 0.5, 2
	_, err := trainAll(t, context.Background(), other, Data{Train: &places.Set{Forms: 4, PerForm: 4, Views: 7, Size: 20}},
		Options{Dir: dir})
	var refused *checkpoint.ResumeError
	if !errors.As(err, &refused) {
		t.Fatalf("error %v", err)
	}
	want := []string{"optim.lr is 0.5, the checkpoint has 0.003", "sampler.m is 2, the checkpoint has 4",
		"the images or labels differ"}
	if !slices.Equal(refused.Differences, want) {
		t.Errorf("differences %q, want %q", refused.Differences, want)
	}
	c.Run.Workers, c.Run.Keep, c.Run.Checkpoint = 3, 5, 2
	if _, err := trainAll(t, context.Background(), c, Data{Train: d}, Options{Dir: dir}); err != nil {
		t.Errorf("what does not change the result was taken for a difference: %v", err)
	}
}

func TestFreezeRestsTheBackbone(t *testing.T) {
	c, d := tiny(6)
	c.Schedule.Freeze = 4
	before, after := t.TempDir(), t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: before, Limit: 4})
	mustTrain(t, c, Data{Train: d}, Options{Dir: after})
	for dir, want := range map[string]int{before: 0, after: 2} {
		list, _ := checkpoint.List(dir)
		s, err := checkpoint.ReadState(list[len(list)-1])
		must.Do(t, err)
		if s.Steps["backbone"] != want || s.Steps["head"] != s.Step {
			t.Errorf("after %d steps the backbone has taken %d and the head %d", s.Step, s.Steps["backbone"], s.Steps["head"])
		}
	}
}

func TestReplayedStepAllocatesNothing(t *testing.T) {
	for _, where := range []string{config.ResampleHost, config.ResampleDevice} {
		t.Run(where, func(t *testing.T) { replayAllocatesNothing(t, where) })
	}
}

func replayAllocatesNothing(t *testing.T, where string) {
	c, d := tiny(50)
	c.Run.Resample = where
	r, err := New(c, Data{Train: d}, Options{Dir: t.TempDir(), Backend: cpu.New(1)})
	must.Do(t, err)
	defer r.Close()
	var b *input.Batch
	for b = range r.loader.Batches(context.Background(), input.Epochs(r.resolved.Sampler, r.paths, 1, input.Position{})) {
		break // and so end the workers, whose allocations would count
	}
	take := func() {
		if _, err := awaited(r.step.Queue(b, 0)); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 { // record, and let scratch memory grow
		take()
	}
	if n := testing.AllocsPerRun(20, take); n > 0 {
		t.Errorf("a replayed step allocates %v times", n)
	}
}

func TestTwoProcessesDoNotShareARunDirectory(t *testing.T) {
	c, d := tiny(2)
	dir := t.TempDir()
	first, err := New(c, Data{Train: d}, Options{Dir: dir, Backend: cpu.New(1)})
	must.Do(t, err)
	_, err = New(c, Data{Train: d}, Options{Dir: dir, Backend: cpu.New(1)})
	var locked *filelock.LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("error %v", err)
	}
	must.Do(t, first.Close())
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
}

// A run that goes on needs its weights file no more: all is in the checkpoint.
func TestResumedRunDoesNotReadTheWeightsItBeganWith(t *testing.T) {
	c, d := tiny(4)
	start, dir := t.TempDir(), t.TempDir()
	mustTrain(t, c, Data{Train: d}, Options{Dir: start, Limit: 1})
	file := filepath.Join(dir, "start.safetensors")
	c.Model.Weights, c.EMA.Decay = file, 0.5
	must.Do(t, os.WriteFile(file, weights(t, start)[checkpoint.ModelFile], 0o644))
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir, Limit: 2})
	must.Do(t, os.Remove(file))
	mustTrain(t, c, Data{Train: d}, Options{Dir: dir})
}

// A run whose lock file somebody removes takes it again, unless another process has it or was there meanwhile.
func TestARunThatLostItsLockReplacesNothing(t *testing.T) {
	c, d := tiny(4)
	for name, meanwhile := range map[string]func(t *testing.T, dir string){
		"nobody": func(*testing.T, string) {},
		"taken": func(t *testing.T, dir string) {
			l, err := filelock.Acquire(filepath.Join(dir, checkpoint.LockFile))
			must.Do(t, err)
			t.Cleanup(func() { l.Close() })
		},
		"trained": func(t *testing.T, dir string) { mustTrain(t, c, Data{Train: d}, Options{Dir: dir}) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r, err := New(c, Data{Train: d}, Options{Dir: dir, Backend: cpu.New(1), Limit: 2})
			must.Do(t, err)
			must.Do(t, os.Remove(filepath.Join(dir, checkpoint.LockFile)))
			meanwhile(t, dir)
			before, err := checkpoint.List(dir)
			must.Do(t, err)
			var lost *checkpoint.TakenOverError
			for _, err = range r.Events(t.Context()) {
				if err != nil {
					break
				}
			}
			if errors.As(err, &lost) != (name != "nobody") {
				t.Errorf("error %v", err)
			}
			after, listErr := checkpoint.List(dir)
			if listErr != nil || name != "nobody" && !slices.Equal(before, after) {
				t.Errorf("checkpoints %q became %q, %v", before, after, listErr)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
