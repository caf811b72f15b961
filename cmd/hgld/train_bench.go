package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
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
			"  hgld train bench --device cuda:0-3      four cards together, and each alone\n" +
			"  hgld train bench --ranks 2              two processes, started by mpirun, and each alone\n" +
			"  hgld train bench --loader                  read, decode and crop alone, by workers\n\n" +
			"  It writes no run directory and evaluates nothing.",
		Flags: slices.Concat(flagsOf(stage.Defaults()), commonFlags(), []cli.Flag{
			overrideFlag(), configFlag(), deviceFlag(), commandFlag(),
			&cli.IntFlag{Name: "measure", Value: 20, Usage: "`STEPS` to measure, after 3 steps of warm-up"},
			&cli.IntFlag{Name: "ranks", Value: 1, Usage: "start `N` processes by mpirun, and compare them with one"},
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
			if err := j.findRanks(); err != nil {
				return err
			}
			if n := c.Int("ranks"); n != 1 && j.ranks == nil {
				return runByMPI(j, n)
			}
			if err := j.spread(j.trainingDevice(s)); err != nil {
				return err
			}
			err := runBench(j, s, c.Int("measure"))
			j.ranks.note(err)
			return j.ranks.leave(errors.Join(err, j.Close()))
		}),
	}
}

// runByMPI runs this command in so many processes.
func runByMPI(j *job, n int) error {
	if n < 1 {
		return usagef("--ranks is %d; want the number of processes", n)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := append([]string{"-n", fmt.Sprint(n), self}, os.Args[1:]...)
	cmd := exec.CommandContext(j.ctx, "mpirun", args...)
	cmd.Stdout, cmd.Stderr = j.stdout, j.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // which it passes on
	if err := cmd.Run(); err != nil {
		if code := cmd.ProcessState.ExitCode(); code > 0 {
			err = withCode(code, err)
		}
		return withHint(fmt.Errorf("mpirun: %w", err), "another launcher does, too, such as srun -n %d hgld train bench", n)
	}
	return nil
}

func runBench(j *job, s *trainSettings, steps int) error {
	data, err := openTrainingData(j, s)
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
	see := func(taken int) { p.Set(taken, "") }
	result.StepTimes, result.Together, err = cost.BenchTogether(j.ctx, s.Config, data.Data, o, steps, see)
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
	data, err := openTrainingData(j, s)
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
