package cost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hgld/train"
	"hgld/train/config"
)

// Rehearse takes steps of a run without a run directory and without evaluations, and passes each
// event to see. Options.Limit bounds the steps. Without Options.Plan it plans the run first.
func Rehearse(ctx context.Context, c config.Config, data train.Data, o train.Options,
	see func(train.Event)) (err error) {
	r, err := rehearsed(c, data, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for e, err := range r.Events(ctx) {
		if err != nil {
			return err
		}
		see(e)
	}
	return nil
}

// rehearsed returns a run without a run directory and without evaluations.
func rehearsed(c config.Config, data train.Data, o train.Options) (_ *train.Run, err error) {
	data.Validation, data.Query, data.Gallery, data.Benchmarks, data.Landmarks = nil, nil, nil, nil, nil
	c.Run.Evaluate, c.Run.EvalOn = 0, config.Default().Run.EvalOn
	if o.Plan == nil {
		if o.Plan, err = train.PlanOn(c, data, o.Backend, ""); err != nil {
			return nil, err
		}
	}
	return train.New(c, data, o)
}

// steady returns c without what slows down or skips the first steps: frozen groups, low rates and
// the fit of a projection.
func steady(c config.Config) config.Config {
	c.Schedule.WarmUp, c.Schedule.Freeze, c.Model.Projection = 0, 0, ""
	return c
}

// Overfitting is the course of a training on a single batch. Every correctly wired network lowers
// its loss.
type Overfitting struct {
	// Losses are the losses of the steps with finite values, at least one.
	Losses []float64 `json:"losses"`

	// Skipped is the number of the other steps.
	Skipped int `json:"-"`
}

// Overfit trains on one batch for o.Limit steps. It passes each loss to see, and fails if no step
// has a finite loss.
func Overfit(ctx context.Context, c config.Config, data train.Data, o train.Options,
	see func(step int, loss float64)) (*Overfitting, error) {
	o.Overfit = true
	f := new(Overfitting)
	err := Rehearse(ctx, c, data, o, func(e train.Event) {
		if e.Kind == train.Skipped {
			f.Skipped++
		}
		if e.Kind == train.Stepped && e.Loss != nil {
			f.Losses = append(f.Losses, *e.Loss)
			see(e.Step, *e.Loss)
		}
	})
	if err == nil && len(f.Losses) == 0 {
		err = fmt.Errorf("train: overfit: none of %d steps had finite values; a lower optim.lr may help", o.Limit)
	}
	return f, err
}

// BenchWarmUp is the number of steps that Bench does not measure. The first step allocates and
// records, and in the next ones the loader is still ahead.
const BenchWarmUp = 3

// Bench measures the given number of training steps, after BenchWarmUp others. It passes the
// number of steps taken, of both kinds, to see.
func Bench(ctx context.Context, c config.Config, data train.Data, o train.Options, steps int,
	see func(taken int)) (StepTimes, error) {
	c.Steps, o.Limit = BenchWarmUp+steps, BenchWarmUp+steps
	var list []train.Event
	var began, ended time.Duration
	err := Rehearse(ctx, c, data, o, func(e train.Event) {
		if !e.Taken() {
			return
		}
		see(e.Step)
		if e.Step > BenchWarmUp {
			list = append(list, e)
		}
		if ended = processorTime(); e.Step <= BenchWarmUp {
			began = ended
		}
	})
	times := timesOf(list)
	if n := len(list); n > 0 {
		times.Processor = float64((ended - began).Microseconds()) / 1000 / float64(n)
	}
	return times, err
}

// StepTimes summarises the times of some steps, in milliseconds.
type StepTimes struct {
	// Steps is the number of steps.
	Steps int `json:"steps"`

	// Step is the median; Fastest and Slowest are the extremes.
	Step    float64 `json:"step_ms"`
	Fastest float64 `json:"fastest_step_ms"` // the least
	Slowest float64 `json:"slowest_step_ms"` // the greatest

	// Processor is the processor time of a step in this process: their mean. 0: unknown.
	Processor float64 `json:"processor_ms"`

	// Images is the number of images per second.
	Images float64 `json:"images_per_second"`

	// Waiting is the share of the time spent waiting for images. Arithmetic is the images per
	// second without it.
	Waiting    float64 `json:"waiting_share"`
	Arithmetic float64 `json:"images_per_second_arithmetic"` // images a second without waiting
}

// timesOf summarises the times of steps. It returns zeros for none.
func timesOf(steps []train.Event) StepTimes {
	var seconds []float64
	total, waited, images := 0.0, 0.0, 0
	for _, e := range steps {
		seconds = append(seconds, e.Seconds)
		total += e.Seconds
		waited += e.Waited
		images += e.Images
	}
	n := len(seconds)
	if n == 0 {
		return StepTimes{}
	}
	slices.Sort(seconds)
	return StepTimes{
		Steps: n, Step: 1000 * seconds[n/2], Fastest: 1000 * seconds[0], Slowest: 1000 * seconds[n-1],
		Images: float64(images) / total, Waiting: waited / total, Arithmetic: float64(images) / (total - waited),
	}
}
