package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"hgld/train"
	"hgld/train/cost"
)

// A rehearsal runs some steps of a training and writes nothing.
type rehearsal func(j *job, s *trainSettings) error

func rehearsalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "dry-run", Usage: "estimate memory and time of the run; --limit steps are timed (3)"},
		&cli.BoolFlag{Name: "overfit", Usage: "train on one batch for --limit steps (100), and check that the loss falls"},
		&cli.BoolFlag{Name: "profile", Usage: "show how long the parts of a step take, over --limit steps (10)"},
	}
}

// rehearsalOf returns the rehearsal that the flags select, or nil for a real run.
func rehearsalOf(c *cli.Context) (rehearsal, error) {
	var asked rehearsal
	before := ""
	for _, kind := range []struct {
		flag string
		of   rehearsal
	}{{"dry-run", forecastRun}, {"overfit", overfitBatch}, {"profile", profileSteps}} {
		switch {
		case !c.Bool(kind.flag):
		case asked != nil:
			return nil, usagef("--%s and --%s exclude each other: give one of them", before, kind.flag)
		default:
			asked, before = kind.of, kind.flag
		}
	}
	return asked, nil
}

// rehearsalOptions returns the training options of a rehearsal with the given number of steps.
func (j *job) rehearsalOptions(s *trainSettings, steps int) (o train.Options, err error) {
	j.logAll("note: %s", s.Adopted.Notes)
	o.Limit, o.Threads = steps, j.threads
	o.AllowCommand, o.CommandDir = j.allowCommand, j.project.Dir
	if o.Backend, err = j.openTraining(); err != nil {
		return o, err
	}
	o.Decoder, _, err = imageDecoder()
	return o, err
}

// limitOr returns --limit, or n if it is not given.
func (j *job) limitOr(n int) int {
	if j.limit > 0 {
		return j.limit
	}
	return n
}

// forecastRun computes the memory of a run and then times some of its steps.
func forecastRun(j *job, s *trainSettings) error {
	data, err := openTrainingData(j, s)
	if err != nil {
		return err
	}
	defer data.Close()
	o, err := j.rehearsalOptions(s, j.limitOr(3)+1)
	if err != nil {
		return err
	}
	plan, err := train.PlanOn(s.Config, data.ForTraining(), o.Backend, s.Out)
	if err != nil {
		return err
	}
	o.Limit = min(o.Limit, plan.Steps)
	f := cost.NewForecast(plan)
	if !j.json {
		j.print("%s", f.Needs())
	}
	if err := f.Measure(j.ctx, s.Config, data.ForTraining(), o); err != nil {
		return err
	}
	return j.show(f, f.Lasts())
}

// overfitBatch checks that the network can learn.
func overfitBatch(j *job, s *trainSettings) error {
	data, err := openTrainingData(j, s)
	if err != nil {
		return err
	}
	defer data.Close()
	steps := j.limitOr(100)
	if steps < 2 {
		return usagef("--limit is %d; want 2 or more, because one step cannot show that the loss falls", steps)
	}
	o, err := j.rehearsalOptions(s, steps)
	if err != nil {
		return err
	}
	p := j.progress("overfit", steps)
	defer p.End()
	f, err := cost.Overfit(j.ctx, s.Config, data.ForTraining(), o, func(step int, loss float64) {
		p.Set(step, fmt.Sprintf("loss %.4f", loss))
	})
	p.End()
	if err != nil {
		return err
	}
	first, last := f.Losses[0], f.Losses[len(f.Losses)-1]
	if j.json {
		err = writeJSON(j, f)
	} else {
		j.print("loss of one batch: %.4g, after %s %.4g\n", first, count(len(f.Losses), "step"), last)
	}
	if f.Skipped > 0 {
		j.log("%s skipped because a value was not finite", count(f.Skipped, "step"))
	}
	if err == nil && last >= first {
		err = withHint(fmt.Errorf("train: overfit: the loss of one batch does not fall"),
			"try another optim.lr first, then check the labels and the loss settings")
	}
	return err
}

// profileSteps times the operations of some training steps.
func profileSteps(j *job, s *trainSettings) error {
	data, err := openTrainingData(j, s)
	if err != nil {
		return err
	}
	defer data.Close()
	o, err := j.rehearsalOptions(s, j.limitOr(10)+1)
	if err != nil {
		return err
	}
	p, err := cost.NewProfile(j.ctx, s.Config, data.ForTraining(), o)
	switch {
	case err != nil:
		return err
	case p.Steps == 0:
		return usagef("the run has only one step, and the first step is not measured")
	case j.json:
		return writeJSON(j, p)
	}
	return p.Table(j.stdout)
}
