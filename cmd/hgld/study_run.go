package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/internal/predicted"
	"hgld/shards"
	"hgld/train"
	"hgld/train/cost"
	"hgld/train/experiment/plan"
	"hgld/train/experiment/report"
)

func studyRunCommand() *cli.Command {
	return &cli.Command{Name: "run", Usage: "train the unfinished runs of a study, and report", ArgsUsage: "NAME",
		Description: "  hgld study run alpha                    one run after another; run the command again to resume\n" +
			"  hgld study run --dry-run alpha          how far the runs are, and which inputs are missing\n" +
			"  hgld study run --seeds 5 claims         more seeds; the finished runs are kept\n" +
			"  hgld study run --small --limit 2 --steps 20 --data shards rank-losses/table-5\n" +
			"                                          a trial of two rows\n" +
			"  hgld study run --slice 2/4 alpha        runs 2, 6, 10 …\n" +
			"  sbatch --array=1-8 --wrap 'hgld study run --slice auto/8 alpha'\n" +
			"                                          task N of the array trains slice N; also in Grid Engine, LSF,\n" +
			"                                          PBS, Kubernetes, AWS and Google Batch\n" +
			"  sbatch --array=$(hgld study run --slice missing/8 alpha) …\n" +
			"                                          only the slices with unfinished runs",
		Flags: append(append(commonFlags(), scaleFlags()...), dryRunFlag(), sliceFlag("", sliceMissing), acceptFlag(),
			deviceFlag(), commandFlag(), storeFlag()),
		Action: actionWithArgs(1, 1, "one study", conductStudy),
	}
}

// conductStudy trains the runs of a study, or of a slice, and writes the report. With --dry-run or --slice missing/T
// it only reports the states of the runs.
func conductStudy(c *cli.Context, j *job) error {
	part, err := sliceOf(c, sliceMissing)
	if err != nil {
		return err
	}
	scale, err := scaleOf(c, j)
	if err != nil {
		return err
	}
	p, err := studyPlan(c, j, scale)
	if err != nil {
		return err
	}
	if part.kind == sliceWhole {
		part.n, part.of = 1, 1
	}
	if part.kind != sliceMissing && !c.Bool("dry-run") {
		return trainStudy(c, j, p, part.n, part.of)
	}
	if scale.IsWhole() {
		if recorded, begun, err := recordedPlan(c, j); err != nil {
			return err
		} else if begun {
			p = recorded
		}
	}
	if err := p.Check(); err != nil {
		return err
	}
	if part.kind == sliceMissing {
		list, err := p.MissingSlices(part.of)
		if err != nil {
			return err
		}
		states, err := p.States()
		if err != nil {
			return err
		}
		logWork(j, workOf(j, states))
		return j.show(list, strings.Join(list, ",")+"\n")
	}
	p.Runs = p.Slice(part.n, part.of)
	return showStates(j, p)
}

// showStates prints the states of the runs of a plan, and which of their inputs are missing.
func showStates(j *job, p *plan.Plan) error {
	states, err := p.States()
	if err != nil {
		return err
	}
	missing := pipeline.Missing(inputsOf(p.Runs))
	work := workOf(j, states)
	if j.json {
		return writeJSON(j, map[string]any{"study": p.Study.Name, "dir": p.Dir, "scale": p.Scale, "runs": states,
			"missing": missing, "bytes": work.Bytes, "core_hours": work.Hours})
	}
	if changed := p.Words(); len(changed) > 0 {
		j.log("scaled down: %s", strings.Join(changed, ", "))
	}
	j.print("%s", p.StatesText(states))
	logWork(j, work)
	for _, path := range missing {
		j.log("missing: %s", path)
	}
	return nil
}

// studyWork is what the unfinished runs of a study take.
type studyWork struct {
	cost.Work
	runs    int   // that are left
	unknown int   // of these, those that were not predicted
	why     error // of the first
}

// workOf predicts what the unfinished runs take. Those whose data cannot be opened, or were not allowed, are left out.
func workOf(j *job, states []*plan.State) (w studyWork) {
	type planned struct {
		estimate *train.Estimate
		one      cost.Work // a step
		err      error
	}
	known := map[string]*planned{} // by settings: the runs of a variant differ in their seeds
	for _, s := range states {
		if s.Phase == plan.Finished || s.Phase == plan.Diverged {
			continue
		}
		w.runs++
		own := *s.Run.Settings
		own.Seed, own.Out, own.Images.HoldOutSeed = 0, "", 0
		key := fmt.Sprintf("%+v", own)
		p := known[key]
		if p == nil {
			p = &planned{}
			p.estimate, p.one, p.err = stepOf(j, s.Run.Settings)
			known[key] = p
		}
		if p.err != nil {
			w.unknown++
			w.why = cmp.Or(w.why, p.err)
			continue
		}
		left := max(0, p.estimate.Steps-s.Taken)
		w.Bytes += p.one.Bytes * int64(left)
		w.Hours += p.one.Hours * float64(left)
	}
	return w
}

// stepOf plans a run, and predicts what one of its steps takes.
func stepOf(j *job, s *trainSettings) (e *train.Estimate, one cost.Work, err error) {
	if err := j.project.CheckStores("train", s); err != nil {
		return nil, one, err
	}
	data, err := openDataOf(j.ctx, &s.Images, func(string, ...any) {})
	if err != nil {
		return nil, one, err
	}
	defer data.Close()
	if e, err = train.Plan(s.Config, data.ForTraining()); err == nil {
		one.Add(e, data.Train, 1)
	}
	return e, one, err
}

// logWork states the work that is left.
func logWork(j *job, w studyWork) {
	if w.runs == 0 {
		return
	}
	size := map[bool]string{true: shards.FormatSize(w.Bytes)}[w.Bytes > 0]
	j.log("%s", predicted.Text(count(w.runs, "run")+" to train", size, w.Hours, 0))
	if w.unknown > 0 {
		j.log("without %s, the first because of %v", count(w.unknown, "run"), w.why)
	}
}

// inputsOf lists the inputs of runs, each once.
func inputsOf(runs []*plan.Run) []string {
	list := []string{}
	seen := map[string]bool{}
	for _, r := range runs {
		for _, path := range r.Files() {
			if !seen[path] {
				seen[path] = true
				list = append(list, path)
			}
		}
	}
	return list
}

// trainStudy trains slice n of a study and writes the report.
func trainStudy(c *cli.Context, j *job, p *plan.Plan, n, of int) error {
	inputs := inputsOf(p.Runs)
	if err := j.checkOutputs("study run", inputs, pipeline.Output{Path: p.Dir, Kind: kindStudy}); err != nil {
		return err
	}
	runs := p.Slice(n, of)
	lacks := func(r *plan.Run) string {
		for _, path := range pipeline.Missing(r.Files()) {
			return path
		}
		return ""
	}
	if len(inputs) > 0 && len(runs) > 0 && len(pipeline.Missing(inputs)) == len(inputs) {
		return trainStage().MissingInput(j.project, runs[0].Settings)
	}
	prints, err := stagesUntil(j.ctx).Fingerprint(inputs)
	if err != nil {
		return err
	}
	if err := p.Open(prints); err != nil {
		return err
	}
	out, err := p.Train(runs, plan.Trainer{Log: j.log, Now: time.Now, Missing: lacks,
		Report: func() error { return report.WriteOf(p, j.pictures) },
		Train:  func(r *plan.Run) error { return trainOfStudy(c, r) }})
	if err != nil {
		return err
	}
	if of > 1 && !j.json {
		j.print("slice %d of %d: %s trained, %d finished before\n", n, of, count(out.Trained, "run"), out.Before)
	} else if err := printReport(j, p, "text"); err != nil {
		return err
	}
	var errs []error
	for _, m := range out.Missing {
		errs = append(errs, m)
	}
	if len(errs) > 0 {
		return withHint(withCode(exitSomeFailed, fmt.Errorf("skipped %s with missing inputs: %w", count(len(errs), "run"),
			errors.Join(errs...))), "provide the files and run the command again: it trains only these runs")
	}
	return nil
}

// trainOfStudy trains a run as `hgld train run` does. Only the tables of the report are printed.
func trainOfStudy(c *cli.Context, r *plan.Run) error {
	j, err := newJob(c)
	if err != nil {
		return err
	}
	j.stdout, j.json, j.limit = io.Discard, false, 0 // --limit counts variants
	own := *r.Settings
	return trainStage().Execute(j, &own)
}
