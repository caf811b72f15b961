package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/filehash"
	"hgld/internal/pipeline"
	"hgld/internal/settings"
	"hgld/internal/texttable"
	"hgld/train"
	"hgld/train/history"
	"hgld/train/retrieval"
	"hgld/train/tune"
)

const tuneExamples = "  hgld runs tune --hold-out 0.2 --over optim.lr=log:1e-5..1e-2 --trials 9 --steps 900\n" +
	"  hgld runs tune --over optim.lr=log:1e-5..1e-2 --over loss.settings.tau=0.01,0.05,0.1 --metric R@1\n" +
	"  hgld runs tune --over model.dim=int:16..128 --over optim.name=adam,sgd --format markdown\n\n" +
	"  Trains every trial for a few steps, then the best third of them three times as long, and so on; the last\n" +
	"  one reaches --steps. A trial is a run directory in OUT. All other settings come from hgld train run. Trials\n" +
	"  are compared on the held-out classes, never on the test. After a stop, the same command continues."

func runsTuneCommand() *cli.Command {
	flags := append(flagsOf(trainStage().Settings()), commonFlags()...)
	return &cli.Command{
		Name: "tune", Usage: "search settings by successive halving", Description: tuneExamples,
		Flags: append(flags, changedFlag(), overrideFlag(), deviceFlag(), configFlag(), commandFlag(),
			&cli.StringSliceFlag{Name: "over", Usage: "search `KEY=VALUES`: a,b,c or low..high, or log:low..high or int:low..high"},
			&cli.IntFlag{Name: "trials", Value: 9, Usage: "try `N` settings"},
			&cli.IntFlag{Name: "eta", Value: 3, Usage: "keep one of every `N` trials per round, and train it N times as long"},
			&cli.StringFlag{Name: "metric", Usage: "`KEY` of eval.json to maximise (default: run.best, or H-AP)"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the table: text, markdown, latex or csv"}),
		Action: runTune,
	}
}

// withAssignments is a command line with further -o assignments appended.
type withAssignments struct {
	settings.Flags
	more []string
}

// StringSlice returns the values of a repeatable flag.
func (w withAssignments) StringSlice(name string) []string {
	list := w.Flags.StringSlice(name)
	if name == pipeline.OverrideFlag {
		list = append(slices.Clone(list), w.more...)
	}
	return list
}

// tuning is a search in progress.
type tuning struct {
	*cli.Context
	search *tune.Search
	plan   tune.Plan
	out    string
}

func runTune(c *cli.Context) error {
	if err := texttable.CheckFormat(c.String("format")); err != nil {
		return withCode(exitUsage, fmt.Errorf("--format: %w", err))
	}
	t := &tuning{Context: c}
	if err := t.begin(); err != nil {
		return err
	}
	for {
		trial, round := t.search.Next()
		if trial == nil {
			return t.report()
		}
		value, err := t.train(trial, round)
		if err != nil {
			return err
		}
		if err := t.search.Measured(trial, value); err != nil {
			return err
		}
	}
}

// settings returns the settings of a run, changed by the given assignments.
func (t *tuning) settings(assignments []string) (*job, *trainSettings, error) {
	j, err := newJob(t.Context)
	if err != nil {
		return nil, nil, err
	}
	s := trainStage().Defaults()
	if path := t.String("config"); path != "" {
		if err := j.project.UseFile("train", path, s); err != nil {
			return nil, nil, err
		}
	}
	if err := j.project.Load(withAssignments{t.Context, assignments}, "train", s); err != nil {
		return nil, nil, err
	}
	if metric := t.String("metric"); metric != "" {
		s.Run.Best = metric
	}
	// Never choose settings on the test, nor on benchmarks.
	s.Images.Query, s.Images.Gallery, s.Images.Benchmarks = "", "", nil
	s.Landmarks.Truth, s.Landmarks.Images, s.Run.Watch = nil, nil, trainStage().Defaults().Run.Watch
	return j, s, nil
}

// begin reads the flags, checks every key, and opens the search.
func (t *tuning) begin() error {
	for _, text := range t.StringSlice("over") {
		o, err := tune.Parse(text)
		if err != nil {
			return usagef("--over %w", err)
		}
		if slices.Contains([]string{"steps", "epochs", "out"}, o.Key) {
			return usagef("--over %s: the search itself sets this key", o.Key)
		}
		_, s, err := t.settings([]string{o.Key + "=" + o.Example()})
		if err == nil {
			err = withCode(exitUsage, checkTrain(s))
		}
		if err != nil {
			return fmt.Errorf("--over: %w", err)
		}
		t.plan.Over = append(t.plan.Over, o)
	}
	j, base, err := t.settings(nil)
	if err != nil {
		return err
	}
	switch {
	case base.Images.HoldOut == 0:
		return withHint(usagef("no classes are held out, so trials cannot be compared"),
			"--hold-out 0.2 keeps a fifth of the classes out of training")
	case base.Steps == 0:
		return withHint(usagef("a search needs the number of steps of the longest trial"), "set it, for example --steps 900")
	}
	if t.out = base.Out; !t.IsSet("out") {
		t.out = j.project.Join(filepath.Join("runs", "tune"))
	}
	t.plan.Trials, t.plan.Eta, t.plan.Steps, t.plan.Seed = t.Int("trials"), t.Int("eta"), base.Steps, base.Seed
	if t.plan.Metric = base.Run.Best; t.plan.Metric == "" {
		t.plan.Metric = "H-AP"
	}
	if t.plan.Settings, err = fingerprint(j, *base); err != nil {
		return err
	}
	err = j.checkOutputs("runs tune", base.Images.Files(), pipeline.Output{Path: t.out, Kind: kindSearch})
	if err != nil {
		return err
	}
	t.search, err = tune.Open(t.out, t.plan)
	if errors.As(err, new(*tune.OtherPlanError)) {
		return err
	}
	if bad := t.plan.Check(); bad != nil {
		return withHint(withCode(exitUsage, bad), "hgld runs tune --help has examples")
	}
	if err != nil {
		return err
	}
	return t.verify()
}

// searchAgain is the hint for a search that cannot be trusted.
const searchAgain = "restore the file, or search again in another folder: hgld runs tune --out DIR"

// forgedError says that a result in the file of a search is not the one in its trial's run directory.
type forgedError struct {
	path, trial string
	steps       int
}

func (e *forgedError) Error() string {
	return fmt.Sprintf("%s: the result of %s after %d steps differs from its run directory", e.path, e.trial, e.steps)
}

// verify compares the results of a search with the run directories of its trials: with the evaluations
// in their logs, and the last with eval.json.
func (t *tuning) verify() error {
	for _, trial := range t.search.Trials {
		if len(trial.Results) == 0 {
			continue
		}
		run, err := readPastRun(t.search.Dir(trial))
		if err != nil {
			return err
		}
		for round, recorded := range trial.Results {
			steps := t.search.Rounds[round]
			var found *retrieval.Result
			newest := false // and therefore in eval.json
			for i := range run.Events {
				if e := &run.Events[i]; e.Kind == train.Evaluated {
					if newest = e.Step == steps; newest {
						found = e.Result
					}
				}
			}
			if !sameResult(recorded, t.percent(found)) || newest && !sameResult(recorded, t.percent(run.Result)) {
				return &forgedError{filepath.Join(t.out, tune.File), trial.Name, steps}
			}
		}
	}
	return nil
}

// sameResult compares a recorded result, nil if it was not finite, with a measured one.
func sameResult(recorded *float64, measured float64) bool {
	if recorded == nil {
		return math.IsNaN(measured)
	}
	return *recorded == measured
}

// percent returns the metric of a search from an evaluation, or NaN without one. Without a level, the
// metric is that of the finest level, as in run.best.
func (t *tuning) percent(r *retrieval.Result) float64 {
	value := float64(history.Percent(r, t.plan.Metric))
	if math.IsNaN(value) {
		value = float64(history.Percent(r, t.plan.Metric+"_level0"))
	}
	return value
}

// fingerprint is the SHA-256 of the settings that all trials share.
func fingerprint(j *job, s trainSettings) (string, error) {
	s.Out, s.Steps = "", 0
	text, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	return filehash.Text(text), nil
}

// train trains a trial to the number of steps of a round. It returns the metric in
// percent, or NaN if training diverged.
func (t *tuning) train(trial *tune.Trial, round int) (float64, error) {
	j, s, err := t.settings(t.search.Assignments(trial))
	if err != nil {
		return 0, err
	}
	s.Out, s.Steps, s.Epochs = t.search.Dir(trial), t.search.Rounds[round], 0
	j.say("round %d of %d, %s: %s, %d steps", round+1, len(t.search.Rounds), trial.Name,
		strings.Join(t.search.Assignments(trial), " "), s.Steps)
	j.stdout = io.Discard // only the table goes to stdout
	err = trainStage().Execute(j, s)
	if errors.Is(err, train.ErrNotFinite) {
		j.say("%v; the trial is dropped", err)
		return math.NaN(), nil
	}
	if err != nil {
		return 0, err
	}
	r, err := readPastRun(s.Out)
	if err != nil {
		return 0, err
	}
	_, err = history.Measured([]*history.Run{r}, []string{t.plan.Metric})
	if _, finest := history.Measured([]*history.Run{r}, []string{t.plan.Metric + "_level0"}); err != nil && finest != nil {
		return 0, withHint(withCode(exitUsage, fmt.Errorf("--metric: %w", err)),
			"choose the metrics to measure with -o run.metrics; the trial is kept")
	}
	return t.percent(r.Result), nil
}

// report prints the table of trials, and the command that trains the best one.
func (t *tuning) report() error {
	j, err := newJob(t.Context)
	if err != nil {
		return err
	}
	if j.json {
		return writeJSON(j, t.search)
	}
	if err := t.search.Table().Write(asTable(j.stdout, t.String("format")), t.String("format")); err != nil {
		return err
	}
	best := t.search.Ranked()[0]
	j.say("best: %s; to train it longer: hgld train run -o %s", t.search.Dir(best),
		words(t.search.Assignments(best), " -o "))
	return nil
}
