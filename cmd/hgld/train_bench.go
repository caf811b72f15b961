package main

import (
	"runtime"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/train/cost"
)

func trainBenchCommand() *cli.Command {
	stage := trainStage()
	return &cli.Command{
		Name: "bench", Usage: "measure training speed, and what training waits for",
		Description: "  hgld train bench                        with the settings of hgld.yaml, on its shards\n" +
			"  hgld train bench --measure 50 -o model.backbone.name=resnet50 -o sampler.batch=128\n" +
			"  hgld train bench --config run.yaml --json\n" +
			"  hgld train bench --loader                  read, decode and crop alone, by workers\n\n" +
			"  It writes no run directory and evaluates nothing.",
		Flags: slices.Concat(flagsOf(stage.Defaults()), commonFlags(), []cli.Flag{
			overrideFlag(), configFlag(), deviceFlag(), commandFlag(),
			&cli.IntFlag{Name: "measure", Value: 20, Usage: "`STEPS` to measure, after 3 steps of warm-up"},
			&cli.BoolFlag{Name: "loader", Usage: "measure how fast images come, by workers, instead of steps"},
		}),
		Action: action(func(c *cli.Context, j *job) error {
			s := stage.Defaults()
			if err := loadTrain(c, j, s); err != nil {
				return err
			}
			if c.Int("measure") < 1 {
				return usagef("--measure is %d; want at least one step", c.Int("measure"))
			}
			if c.Bool("loader") {
				return runLoaderBench(j, s, c.Int("measure"))
			}
			return runBench(j, s, c.Int("measure"))
		}),
	}
}

func runBench(j *job, s *trainSettings, steps int) error {
	data, err := openDataOf(&s.Images, j.say)
	if err != nil {
		return err
	}
	defer data.Close()
	result := cost.BenchmarkResult{Backbone: s.Model.Backbone.Name, Loss: s.Loss.Name, Batch: s.Sampler.Batch,
		Size: s.Input.Size, Threads: s.Config.Run.Threads}
	if result.Threads == 0 {
		result.Threads = runtime.GOMAXPROCS(0)
	}
	j.say("%d steps of %s with %s on %s", steps, result.Backbone, result.Loss, s.Images.Files()[0])
	o, err := j.rehearsalOptions(s, 0)
	if err != nil {
		return err
	}
	result.Device = o.Backend.Name()
	p := j.progress("bench", cost.BenchWarmUp+steps)
	defer p.End()
	result.StepTimes, err = cost.Bench(j.ctx, s.Config, data.Data, o, steps, func(taken int) { p.Set(taken, "") })
	if err != nil {
		return trainError(err)
	}
	return j.show(result, result.Text())
}

// runLoaderBench loads as many images as the given number of steps reads, for each number of workers.
func runLoaderBench(j *job, s *trainSettings, steps int) error {
	if onVectors(s) {
		return usagef("--loader measures images, and the data are vectors")
	}
	data, err := openDataOf(&s.Images, j.say)
	if err != nil {
		return err
	}
	defer data.Close()
	o, err := j.rehearsalOptions(s, 0)
	if err != nil {
		return err
	}
	images := steps * s.Sampler.Batch
	j.say("%d images of %s with each number of workers", images, s.Images.Files()[0])
	p := j.progress("loader", 0)
	result, err := cost.BenchLoader(j.ctx, s.Config, data.ForTraining(), o, images, func(workers int) {
		p.Set(0, count(workers, "worker"))
	})
	p.End()
	if err != nil {
		return trainError(err)
	}
	return j.show(result, result.Text())
}
