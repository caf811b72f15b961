package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"hgld/train"
)

// A rehearsal takes some steps of a run without writing anything.
type rehearsal func(j *job, s *trainSettings) error

func rehearsalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "dry-run", Usage: "estimate memory and time of the run; --limit steps are timed (3)"},
		&cli.BoolFlag{Name: "overfit", Usage: "train on one batch for --limit steps (100): does the loss fall?"},
		&cli.BoolFlag{Name: "profile", Usage: "show where the time of a step goes, over --limit steps (10)"},
	}
}

// rehearsalOf returns the rehearsal that the flags select, nil for a real run.
func rehearsalOf(c *cli.Context) (rehearsal, error) {
	var asked rehearsal
	before := ""
	for _, kind := range []struct {
		flag string
		of   rehearsal
	}{{"dry-run", dryRun}, {"overfit", overfit}, {"profile", profile}} {
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

// rehearse takes steps without a run directory and passes each event to see.
func rehearse(j *job, s *trainSettings, data train.Data, o train.Options, see func(train.Event)) (err error) {
	if o.Decoder, _, err = imageDecoder(); err != nil {
		return err
	}
	return train.Rehearse(j.ctx, s.Config, data, o, see)
}

// limitOr returns --limit, or n if it is not given.
func (j *job) limitOr(n int) int {
	if j.limit > 0 {
		return j.limit
	}
	return n
}

// dryRun computes the memory of a run and then times some of its steps.
func dryRun(j *job, s *trainSettings) error {
	data, err := openData(&s.Images)
	if err != nil {
		return err
	}
	defer data.Close()
	plan, err := train.Plan(s.Config, data.ForTraining())
	if err != nil {
		return err
	}
	f := train.NewForecast(plan)
	if !j.json {
		j.print("%s", f.Needs())
	}
	b, err := j.openTraining(s)
	if err != nil {
		return err
	}
	o := train.Options{Backend: b, Limit: min(j.limitOr(3)+1, plan.Steps)}
	config := *s
	config.Schedule.WarmUp = 0 // a step in which all groups are trained takes longest
	config.Model.Projection = ""
	if err := rehearse(j, &config, data.ForTraining(), o, f.Time); err != nil {
		return err
	}
	f.Close()
	if j.json {
		return writeJSON(j, f)
	}
	j.print("%s", f.Lasts())
	return nil
}

// overfit checks that the network can learn: trained on one batch repeatedly, every
// correctly wired network lowers the loss.
func overfit(j *job, s *trainSettings) error {
	data, err := openData(&s.Images)
	if err != nil {
		return err
	}
	defer data.Close()
	steps := j.limitOr(100)
	if steps < 2 {
		return usagef("--limit is %d; want 2 or more, since a loss falls in 2 steps at the soonest", steps)
	}
	b, err := j.openTraining(s)
	if err != nil {
		return err
	}
	p := j.progress("overfit", steps)
	defer p.End()
	var losses []float64
	skipped := 0
	err = rehearse(j, s, data.ForTraining(), train.Options{Backend: b, Limit: steps, Overfit: true}, func(e train.Event) {
		if e.Kind == train.Skipped {
			skipped++
		}
		if e.Kind == train.Stepped && e.Loss != nil {
			losses = append(losses, *e.Loss)
			p.Set(e.Step, fmt.Sprintf("loss %.4f", *e.Loss))
		}
	})
	p.End()
	if err != nil {
		return err
	}
	if len(losses) == 0 {
		return fmt.Errorf("train: overfit: none of %d steps had finite values", steps)
	}
	first, last := losses[0], losses[len(losses)-1]
	if j.json {
		err = writeJSON(j, map[string]any{"losses": losses})
	} else {
		j.print("loss of one batch: %.4g, after %s %.4g\n", first, count(len(losses), "step"), last)
	}
	if skipped > 0 {
		j.say("%s skipped: a value was not finite", count(skipped, "step"))
	}
	if err == nil && last >= first {
		err = withHint(fmt.Errorf("train: overfit: the loss of one batch does not fall"),
			"try another optim.lr first; then look at labels and loss settings")
	}
	return err
}

// profile times the operations of some training steps.
func profile(j *job, s *trainSettings) error {
	data, err := openData(&s.Images)
	if err != nil {
		return err
	}
	defer data.Close()
	profiler := train.NewProfiler()
	b, err := j.openTraining(s)
	if err != nil {
		return err
	}
	steps, seconds, waited := 0, 0.0, 0.0
	config := *s
	config.Schedule.WarmUp, config.Model.Projection = 0, ""
	err = rehearse(j, &config, data.ForTraining(), train.Options{Backend: profiler.Watch(b), Limit: j.limitOr(10) + 1},
		func(e train.Event) {
			if e.Kind != train.Stepped && e.Kind != train.Skipped {
				return
			}
			if e.Step == 1 { // in which memory grows
				profiler.Reset()
				return
			}
			steps, seconds, waited = steps+1, seconds+e.Seconds, waited+e.Waited
		})
	if err != nil {
		return err
	}
	if steps == 0 {
		return usagef("the run has one step, but the first is not measured")
	}
	if j.json {
		return writeJSON(j, map[string]any{"steps": steps, "seconds": seconds, "waited": waited,
			"operations": profiler.Ops()})
	}
	return profiler.Table(j.stdout, steps, seconds, waited)
}
