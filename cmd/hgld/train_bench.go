package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"github.com/urfave/cli/v2"

	"hgld/train/cost"
)

func trainBenchCommand() *cli.Command {
	stage := trainStage()
	return &cli.Command{
		Name: "bench", Usage: "measure training speed, and what training waits for",
		Description: "  hgld train bench                        with the settings of hgld.yaml, on its shards\n" +
			"  hgld train bench --steps 50 -o model.backbone.name=resnet50 -o sampler.batch=128\n" +
			"  hgld train bench --config run.yaml --json\n" +
			"  hgld train bench --device cuda:0-3      four GPUs together, and each alone\n" +
			"  hgld train bench --ranks 2              two processes, started through mpirun, and each alone\n" +
			"  hgld train bench --loader               read, decode and crop only, per number of workers\n\n" +
			"  It writes no run directory and evaluates nothing.",
		Flags: append(commonFlags(), overrideFlag(), configFlag(), deviceFlag(), commandFlag(),
			&cli.StringFlag{Name: "data", Usage: "folder of shards `DIR`, instead of that of the settings"},
			&cli.IntFlag{Name: "steps", Value: 20, Usage: "measure `N` steps, after 3 steps of warm-up"},
			&cli.IntFlag{Name: "ranks", Value: 1, Usage: "start `N` processes through mpirun, and compare them with one"},
			&cli.BoolFlag{Name: "loader", Usage: "measure loading of images per number of workers, instead of steps"}),
		Action: action(func(c *cli.Context, j *job) error {
			s := stage.Defaults()
			if _, err := loadTrain(benchFlags{c}, j, s); err != nil {
				return err
			}
			if c.Int("steps") < 1 {
				return usagef("--steps is %d; want 1 or more", c.Int("steps"))
			}
			if c.Bool("loader") {
				return runLoaderBench(j, s, c.Int("steps"))
			}
			if err := j.findRanks(); err != nil {
				return err
			}
			if n := c.Int("ranks"); n != 1 && j.ranks == nil {
				return runByMPI(j, n)
			}
			if err := j.spread(j.device); err != nil {
				return err
			}
			err := runBench(j, s, c.Int("steps"))
			j.ranks.Note(err)
			return j.ranks.Leave(errors.Join(err, j.Close()))
		}),
	}
}

// benchFlags are the flags of a benchmark, whose --steps is not the length of a run.
type benchFlags struct{ *cli.Context }

// IsSet leaves out --steps.
func (f benchFlags) IsSet(name string) bool { return name != "steps" && f.Context.IsSet(name) }

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
		return withHint(fmt.Errorf("mpirun: %w", err),
			"start the processes with another launcher, such as srun -n %d hgld train bench", n)
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
		Size: s.Input.Size, Threads: j.threads}
	if result.Threads == 0 {
		result.Threads = runtime.GOMAXPROCS(0)
	}
	j.log("%d steps of %s with %s on %s", steps, result.Backbone, result.Loss, s.Images.Files()[0])
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
	j.log("%d images of %s with each number of workers", images, s.Images.Files()[0])
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
