package main

import (
	"errors"
	"runtime"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/train"
)

// benchResult is what `hgld train bench` measures. Times are in milliseconds.
type benchResult struct {
	Backbone   string  `json:"backbone"`
	Loss       string  `json:"loss"`
	Batch      int     `json:"batch"`
	Size       int     `json:"size"`
	Device     string  `json:"device"`
	Threads    int     `json:"threads"`
	Steps      int     `json:"steps"` // measured
	Step       float64 `json:"step_ms"`
	Fastest    float64 `json:"fastest_step_ms"`
	Slowest    float64 `json:"slowest_step_ms"`
	Images     float64 `json:"images_per_second"`
	Waiting    float64 `json:"waiting_share"`                // of the time, for images
	Arithmetic float64 `json:"images_per_second_arithmetic"` // without that waiting
}

// benchWarmUp steps are not measured: the first allocates and records, and the
// loader is ahead in those after it.
const benchWarmUp = 3

func trainBenchCommand() *cli.Command {
	stage := trainStage()
	return &cli.Command{
		Name: "bench", Usage: "how many images a second a training takes, and where it waits",
		Description: "  hgld train bench                        with the settings of hgld.yaml, on its shards\n" +
			"  hgld train bench --measure 50 -o model.backbone.name=resnet50 -o sampler.batch=128\n" +
			"  hgld train bench --config run.yaml --json\n\n" +
			"  Nothing is kept: no run directory, no evaluation.",
		Flags: slices.Concat(flagsOf(stage.Defaults()), commonFlags(), []cli.Flag{
			overrideFlag(), configFlag(), deviceFlag(),
			&cli.IntFlag{Name: "measure", Value: 20, Usage: "`STEPS` to measure, after 3 that are not"},
		}),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			s := stage.Defaults()
			if err := loadTrain(c, j, s); err != nil {
				return err
			}
			if c.Int("measure") < 1 {
				return usagef("--measure is %d, want at least one step", c.Int("measure"))
			}
			return errors.Join(runBench(j, s, c.Int("measure")), j.Close())
		},
	}
}

func runBench(j *job, s *trainSettings, steps int) error {
	data, err := s.Images.open()
	if err != nil {
		return err
	}
	defer data.close()
	result := benchResult{Backbone: s.Model.Backbone.Name, Loss: s.Loss.Name, Batch: s.Sampler.Batch, Size: s.Input.Size, Threads: s.Config.Run.Threads}
	if result.Threads == 0 {
		result.Threads = runtime.GOMAXPROCS(0)
	}
	j.say("%d steps of %s with %s on %s", steps, result.Backbone, result.Loss, s.Images.Data)
	s.Config.Steps = benchWarmUp + steps
	p := j.progress("bench", s.Config.Steps)
	defer p.end()
	var list []train.Event
	b, err := j.openTraining(s)
	if err != nil {
		return err
	}
	result.Device = b.Name()
	o := train.Options{Backend: b, Limit: s.Config.Steps}
	err = rehearse(j, s, data.Data, o, func(e train.Event) {
		if e.Kind != train.Stepped && e.Kind != train.Skipped {
			return
		}
		p.set(e.Step, "")
		if e.Step > benchWarmUp {
			list = append(list, e)
		}
	})
	if err != nil {
		return trainError(err)
	}
	result.measure(list)
	if j.json {
		return writeJSON(j, result)
	}
	j.print("%s with %s, batches of %d images of %d pixels, %d threads\n", result.Backbone, result.Loss, result.Batch, result.Size, result.Threads)
	j.print("step        %8.1f ms     median of %d, from %.1f to %.1f\n", result.Step, result.Steps, result.Fastest, result.Slowest)
	j.print("training    %8.1f img/s  waiting for images %.0f %% of the time\n", result.Images, 100*result.Waiting)
	j.print("arithmetic  %8.1f img/s  if images were always there\n", result.Arithmetic)
	return nil
}

// measure sums up the steps.
func (b *benchResult) measure(list []train.Event) {
	var seconds []float64
	total, waited, images := 0.0, 0.0, 0
	for _, e := range list {
		seconds = append(seconds, e.Seconds)
		total += e.Seconds
		waited += e.Waited
		images += e.Images
	}
	slices.Sort(seconds)
	if b.Steps = len(seconds); b.Steps == 0 {
		return
	}
	ms := func(s float64) float64 { return 1000 * s }
	b.Step, b.Fastest, b.Slowest = ms(seconds[b.Steps/2]), ms(seconds[0]), ms(seconds[b.Steps-1])
	b.Images, b.Waiting, b.Arithmetic = float64(images)/total, waited/total, float64(images)/(total-waited)
}
