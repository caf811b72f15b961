package train

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"hgld/train/device/cpu"
	"hgld/train/retrieval"
)

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
		config := Config{Stop: EarlyStop{c.stop}}
		if c.plateau > 0 {
			config.Schedule.Plateau = Plateau{Factor: 0.5, Patience: c.plateau}
		}
		var list []judgement
		for i, v := range c.values {
			list = append(list, judgement{i + 1, v})
		}
		if cuts, stops := config.course(list); cuts != c.cuts || stops != c.stops {
			t.Errorf("%+v: %d cuts, stops %v", c, cuts, stops)
		}
	}
}

// patientRun soon stops improving, so that it cuts its rates and ends early.
func patientRun() (Config, Data) {
	c, d := tiny(100)
	c.Run.Evaluate, c.Run.Checkpoint, c.Run.Keep = 4, 3, 1
	c.Optim.Rate = 1e-2
	c.Schedule = Schedule{Named: Named{Name: "constant"}, Plateau: Plateau{Factor: 0.1, Patience: 1}}
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
		if err != nil {
			t.Fatal(err)
		}
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
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
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
	var refused *ResumeError
	if _, err := trainAll(t, t.Context(), other, data, Options{Dir: dir}); !errors.As(err, &refused) ||
		!strings.Contains(err.Error(), "run.evaluate is 8, the checkpoint has 4") {
		t.Errorf("error %v", err)
	}
	for want, change := range map[string]func(*Config, *Data){
		"run.evaluate is 0":            func(c *Config, _ *Data) { c.Run.Evaluate = 0 },
		"no validation classes":        func(_ *Config, d *Data) { d.Validation = nil },
		"has factor 1 and patience":    func(c *Config, _ *Data) { c.Schedule.Plateau.Factor = 1 },
		"has patience 1 and no factor": func(c *Config, _ *Data) { c.Schedule.Plateau.Factor = 0 },
	} {
		c, data := patientRun()
		change(&c, &data)
		if _, err := trainAll(t, t.Context(), c, data, Options{}); !errors.As(err, new(*ConfigError)) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
