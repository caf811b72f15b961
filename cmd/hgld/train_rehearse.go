package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/registry"
	"hgld/train"
	"hgld/train/cost"
	"hgld/train/device/nulldriver"
)

// A rehearsal runs some steps of a training and writes nothing.
type rehearsal func(j *job, s *trainSettings) error

func rehearsalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "dry-run", Usage: "estimate memory and time of the run; --limit steps are timed (3)"},
		&cli.StringFlag{Name: "card", Usage: "with --dry-run: predict the time of a step on a `CARD` that is not here: " +
			strings.Join(slices.Sorted(maps.Keys(nulldriver.Cards)), ", ")},
		&cli.IntFlag{Name: "ranks", Value: 1, Usage: "with --card: `N` cards that train together"},
		&cli.StringFlag{Name: "link", Usage: "with --ranks: the `LINK` between the cards of a machine: " +
			strings.Join(slices.Sorted(maps.Keys(nulldriver.Links)), ", ") + "; by default the card's usual one"},
		&cli.IntFlag{Name: "nodes", Value: 1, Usage: "with --ranks: the cards are in `N` machines"},
		&cli.Float64Flag{Name: "network", Value: 100,
			Usage: "with --nodes: `GBIT/S` between the machines, by all adapters of one together"},
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
	if name := c.String("card"); c.IsSet("card") {
		card, known := nulldriver.Cards[name]
		switch {
		case before != "dry-run":
			return nil, usagef("--card predicts a step for --dry-run: give both")
		case !known:
			return nil, usagef("--card: %w", registry.Unknown("card", name, slices.Sorted(maps.Keys(nulldriver.Cards))))
		}
		group, err := groupOf(c, card)
		if err != nil {
			return nil, err
		}
		return func(j *job, s *trainSettings) error { return predictRun(j, s, card, group) }, nil
	}
	for _, flag := range []string{"ranks", "link", "nodes", "network"} {
		if c.IsSet(flag) {
			return nil, usagef("--%s is for the prediction of --dry-run --card: give these, or start the processes of a "+
				"training with a launcher or --device cuda:0-7", flag)
		}
	}
	return asked, nil
}

// groupOf returns the cards that the flags let train together, or nil for one.
func groupOf(c *cli.Context, card nulldriver.Card) (*nulldriver.Group, error) {
	name := card.Link
	if c.IsSet("link") {
		name = c.String("link")
	}
	link, known := nulldriver.Links[name]
	cards, nodes, network := c.Int("ranks"), c.Int("nodes"), c.Float64("network")
	switch {
	case !known:
		return nil, usagef("--link: %w", registry.Unknown("link", name, slices.Sorted(maps.Keys(nulldriver.Links))))
	case cards < 1 || nodes < 1 || cards%nodes != 0:
		return nil, usagef("--ranks %d in --nodes %d: want at least one card in every machine, equally many in each",
			cards, nodes)
	case !(network > 0):
		return nil, usagef("--network is %g Gbit/s, want more than 0", network)
	case cards == 1:
		return nil, nil
	}
	return &nulldriver.Group{Cards: cards, Nodes: nodes, Link: link, Network: 1e9 * network}, nil
}

// rehearsalOptions returns the training options of a rehearsal with the given number of steps.
func (j *job) rehearsalOptions(s *trainSettings, steps int) (o train.Options, err error) {
	j.sayAll("note: %s", s.Adopted.Notes)
	o.Limit = steps
	o.AllowCommand, o.CommandDir = j.allowCommand, j.project.Dir
	if o.Backend, err = j.openTraining(s); err != nil {
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
	s.Config.Run.Settle(o.Backend)
	plan, err := train.PlanShare(s.Config, data.ForTraining(), j.ranks.count())
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

// predictRun computes the memory of a run, and predicts its steps on cards that need not be here. group is nil for one.
func predictRun(j *job, s *trainSettings, card nulldriver.Card, group *nulldriver.Group) error {
	j.sayAll("note: %s", s.Adopted.Notes)
	data, err := openTrainingData(j, s)
	if err != nil {
		return err
	}
	defer data.Close()
	b, err := nulldriver.Open(card)
	if err != nil {
		return err
	}
	j.opened = append(j.opened, b)
	s.Config.Run.Settle(b)
	ranks := 1
	if group != nil {
		ranks = group.Cards
	}
	plan, err := train.PlanShare(s.Config, data.ForTraining(), ranks)
	if err != nil {
		return err
	}
	p, err := cost.Predict(s.Config, data.ForTraining(), plan, b, group)
	if err != nil {
		return err
	}
	f := cost.NewForecast(plan)
	if j.json {
		return writeJSON(j, predicted{f.Estimate, f.Parameters, p})
	}
	j.print("%s", f.Needs())
	return p.Table(j.stdout, plan.Vectors)
}

// predicted is the output of --dry-run --card with --json.
type predicted struct {
	*train.Estimate
	Parameters int              `json:"parameters"`
	Prediction *cost.Prediction `json:"prediction"`
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
		j.say("%s skipped because a value was not finite", count(f.Skipped, "step"))
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
