// Package cost foretells what a training takes, by taking some of its steps: the time of a run, the
// speed of a step, the time of each operation beside what the device's rates allow. It stands
// above train, whose Plan counts memory and arithmetic.
package cost

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"hgld/train"
	"hgld/train/config"
	"hgld/train/device"
)

// Forecast is the memory and the time that a run will take.
type Forecast struct {
	*train.Estimate
	Parameters int     `json:"parameters"`       // trained values
	Timed      int     `json:"steps_timed"`      // steps taken to measure it
	StepTime   float64 `json:"seconds_a_step"`   // median of the timed steps
	Waited     float64 `json:"share_waiting"`    // share of that time spent waiting for images
	Total      float64 `json:"seconds_in_steps"` // time of all steps, without evaluations and checkpoints

	// Cores are those that would load the images as fast as the device trains on them. 0: the loader keeps up, or it
	// shares its cores with the training.
	Cores int `json:"loader_cores,omitempty"`

	times         []float64
	total, waited float64
	workers       int // that load images beside the device; 0: the device is the processor itself
}

// NewForecast starts from the estimates of a plan.
func NewForecast(plan *train.Estimate) *Forecast {
	f := &Forecast{Estimate: plan}
	for _, g := range plan.Groups {
		f.Parameters += g.Values
	}
	return f
}

// Measure takes o.Limit steps, at least one, and times them. Every step trains all groups.
func (f *Forecast) Measure(ctx context.Context, c config.Config, data train.Data, o train.Options) error {
	o.Plan = f.Estimate
	if device.OwnMemory(o.Backend) && !f.Vectors {
		f.workers = cmp.Or(c.Run.Workers, runtime.GOMAXPROCS(0))
	}
	if err := Rehearse(ctx, steady(c), data, o, f.time); err != nil {
		return err
	}
	f.close()
	return nil
}

// time records the duration of a step from its event.
func (f *Forecast) time(e train.Event) {
	if e.Taken() {
		f.times = append(f.times, e.Seconds)
		f.total, f.waited = f.total+e.Seconds, f.waited+e.Waited
	}
}

// close computes the totals of the steps. There must be at least one.
func (f *Forecast) close() {
	times := f.times
	if len(times) > 1 {
		times = times[1:] // the first step allocates
	}
	slices.Sort(times)
	f.Timed, f.StepTime, f.Waited = len(times), times[len(times)/2], f.waited/f.total
	f.Total = f.StepTime * float64(f.Steps)
	if f.workers > 0 && f.Waited >= littleWait {
		f.Cores = int(math.Ceil(float64(f.workers) / (1 - f.Waited)))
	}
}

// littleWait is the share of the time up to which waiting for images is not worth other images or more cores.
const littleWait = 0.05

// Needs describes the run and its memory.
func (f *Forecast) Needs() string {
	text := fmt.Sprintf("%-11s %d, classes %v, %d steps of %d %[1]s, %[6]d an epoch\n", config.ItemsText(f.Vectors),
		f.Images, f.Classes,
		f.Steps, f.Batch, f.PerEpoch)
	if f.Absent > 0 {
		text += fmt.Sprintf("            %s\n", train.AbsentText(f.Absent, f.Classes[0]))
	}
	text += fmt.Sprintf("parameters  %d", f.Parameters)
	for i, g := range f.Groups {
		text += fmt.Sprintf("%s %s %d", map[bool]string{true: ":", false: ","}[i == 0], g.Name, g.Values)
	}
	share := float64(f.Batch)
	if f.Ranks > 0 {
		share /= float64(f.Ranks)
		text += fmt.Sprintf("\nprocesses   %d; memory and arithmetic are those of one, with %g %s of a batch", f.Ranks, share,
			config.ItemsText(f.Vectors))
	}
	text += fmt.Sprintf("\nmemory      %s in a step, of which %s persistent", mebibytes(f.Peak), mebibytes(f.Kept))
	if f.Holds && f.Most > f.Least {
		text += fmt.Sprintf(", which would be %s if it computed values again to save memory", mebibytes(f.Least))
	}
	if f.Vectors {
		text += fmt.Sprintf("; %s of batches read ahead", mebibytes(f.Host))
	} else {
		text += fmt.Sprintf("; %s of decoded images", mebibytes(f.Host))
	}
	if f.Files > 0 {
		text += fmt.Sprintf("; up to %s of image files", mebibytes(f.Files))
	}
	if f.Evaluation > 0 {
		text += fmt.Sprintf("; %s in an evaluation", mebibytes(f.Evaluation))
	}
	if f.Whole > 0 {
		text += fmt.Sprintf(" and %s of its images", mebibytes(f.Whole))
	}
	if f.Projection > 0 {
		text += fmt.Sprintf("; %s while the projection is fitted", mebibytes(f.Projection))
	}
	text += "\n"
	return text + fmt.Sprintf("arithmetic  %.1f GFLOP a step, %.2f %s\n", f.FLOPs/1e9, f.FLOPs/1e9/share,
		map[bool]string{true: "a vector", false: "an image"}[f.Vectors])
}

// Lasts describes the time of the run.
func (f *Forecast) Lasts() string {
	whole := time.Duration(f.Total * float64(time.Second)).Round(time.Second)
	text := fmt.Sprintf("time        %.3g s a step (median of %d), %.0f %s/s, %.0f %% waiting for %s; %v for all "+
		"steps\n",
		f.StepTime, f.Timed, float64(f.Batch)/f.StepTime, map[bool]string{true: "vectors", false: "img"}[f.Vectors],
		100*f.Waited, config.ItemsText(f.Vectors), whole)
	if f.Cores > 0 {
		text += fmt.Sprintf("limit       the loader: %d workers, and about %d cores would keep up with the GPU; images "+
			"stored at a smaller side need fewer\n", f.workers, f.Cores)
	}
	return text
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
