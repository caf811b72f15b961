package train

import (
	"context"
	"errors"
	"slices"
)

// Rehearse takes steps of a run without a run directory and without evaluations, and
// hands each event to see. Options.Limit bounds the steps.
func Rehearse(ctx context.Context, c Config, data Data, o Options, see func(Event)) (err error) {
	data.Validation, data.Query, data.Gallery, data.Benchmarks = nil, nil, nil, nil
	c.Run.Evaluate, c.Run.Watch = 0, Default().Run.Watch
	r, err := New(c, data, o)
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

// StepTimes sums up the times of some steps, in milliseconds.
type StepTimes struct {
	// Steps is their number.
	Steps int `json:"steps"`

	// Step is the median, Fastest and Slowest the extremes.
	Step    float64 `json:"step_ms"`
	Fastest float64 `json:"fastest_step_ms"` // the least
	Slowest float64 `json:"slowest_step_ms"` // the greatest

	// Images is the number of images a second.
	Images float64 `json:"images_per_second"`

	// Waiting is the share of the time that went into waiting for images, and
	// Arithmetic the images a second without it.
	Waiting    float64 `json:"waiting_share"`
	Arithmetic float64 `json:"images_per_second_arithmetic"` // images a second without waiting
}

// TimesOf sums up the times of steps. It returns zeros for none.
func TimesOf(steps []Event) StepTimes {
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
