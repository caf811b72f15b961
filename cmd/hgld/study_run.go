package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"hgld/internal/jobarray"
	"hgld/internal/pipeline"
	"hgld/train/study"
)

// studyTrainingFlags are the flags of the commands that train runs of a study.
func studyTrainingFlags() []cli.Flag {
	return append(append(commonFlags(), scaleFlags()...), changedFlag(), deviceFlag(), commandFlag())
}

func studyRunCommand() *cli.Command {
	return &cli.Command{Name: "run", Usage: "train the runs of a study that are not finished, and report",
		ArgsUsage: "NAME",
		Description: "  hgld study run alpha                    one run after another; after a stop, the same command\n" +
			"                                          continues\n" +
			"  hgld study run --seeds 5 claims         more seeds; the finished runs are kept\n" +
			"  hgld study run --small --limit 2 --steps 20 --data shards rank-losses/table-5\n" +
			"                                          a trial of two rows",
		Flags: studyTrainingFlags(),
		Action: actionWithArgs(1, 1, "one study", func(c *cli.Context, j *job) error {
			return conductStudy(c, j, 1, 1)
		}),
	}
}

func studySliceCommand() *cli.Command {
	return &cli.Command{Name: "slice", Usage: "train every T-th run, so that several machines can share a study",
		ArgsUsage: "NAME N/T",
		Description: "  hgld study slice alpha 2/4              runs 2, 6, 10 …\n" +
			"  sbatch --array=1-8 --wrap 'hgld study slice alpha auto/8'\n" +
			"                                          task N of the array trains slice N; also in Grid Engine, LSF,\n" +
			"                                          PBS, Kubernetes, AWS and Google Batch\n" +
			"  sbatch --array=$(hgld study plan --missing 8 alpha) …\n" +
			"                                          only the slices with runs that are not finished\n" +
			"  hgld study report alpha                 at any time",
		Flags: studyTrainingFlags(),
		Action: actionWithArgs(2, 2, "a study and a slice, such as 3/8", func(c *cli.Context, j *job) error {
			n, of, err := studySlice(j.args[1])
			if err != nil {
				return withCode(exitUsage, err)
			}
			return conductStudy(c, j, n, of)
		}),
	}
}

// studySlice reads a slice as `hgld shards slice` does.
func studySlice(text string) (n, of int, err error) { return jobarray.Slice(text, os.Getenv) }

// conductStudy trains slice n of a study and writes the report.
func conductStudy(c *cli.Context, j *job, n, of int) error {
	scale, err := scaleOf(c)
	if err != nil {
		return err
	}
	p, err := studyPlan(c, j, scale)
	if err != nil {
		return err
	}
	var inputs []string
	for _, r := range p.Runs {
		inputs = append(inputs, r.Files()...)
	}
	inputs = unique(inputs)
	if err := j.checkOutputs("study run", inputs, pipeline.Output{Path: p.Dir, Kind: kindStudy}); err != nil {
		return err
	}
	runs := p.Slice(n, of)
	lacks := func(r *study.Run) string {
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
	out, err := p.Conduct(runs, study.Conductor{Say: j.say, Missing: lacks, Train: func(r *study.Run) error {
		return trainOfStudy(c, r)
	}})
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
		return withHint(withCode(exitSomeFailed, fmt.Errorf("%s without their inputs: %w", count(len(errs), "run"),
			errors.Join(errs...))), "the same command trains them once the files are there")
	}
	return nil
}

// trainOfStudy trains a run as `hgld train run` does. Only the tables of the report are printed.
func trainOfStudy(c *cli.Context, r *study.Run) error {
	j, err := newJob(c)
	if err != nil {
		return err
	}
	j.stdout, j.json, j.limit = io.Discard, false, 0 // --limit counts variants
	own := *r.Settings
	return trainStage().Execute(j, &own)
}
