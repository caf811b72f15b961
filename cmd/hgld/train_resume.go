package main

import (
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/train/history"
)

const trainResumeExamples = "  hgld train resume runs/happier          continue to the end\n" +
	"  hgld train resume --limit 500 runs/happier\n" +
	"                                          continue to step 500\n" +
	"  hgld train resume -o run.checkpoint=100 runs/happier\n" +
	"                                          save more often; only settings that do not affect the result may change"

func trainResumeCommand() *cli.Command {
	return &cli.Command{
		Name: "resume", Usage: "continue a run with the settings in its run.yaml", Description: trainResumeExamples,
		ArgsUsage: "RUN",
		Flags:     append(stageFlags(), deviceFlag(), commandFlag()),
		Action: action(func(c *cli.Context, j *job) error {
			if err := j.findRanks(); err != nil {
				return err
			}
			if len(j.args) != 1 {
				return usagef("train resume takes one argument, the run directory; got %d", len(j.args))
			}
			s, err := resumedSettings(j.args[0])
			if err != nil {
				return err
			}
			if err := j.project.Section("train", s).Assign(c.StringSlice("override")); err != nil {
				return withCode(exitUsage, err)
			}
			if err := j.spread(j.trainingDevice(s)); err != nil {
				return err
			}
			return j.ranks.leave(executeTraining(trainStage().Continued(), j, s))
		}),
	}
}

// resumedSettings reads the settings that a run was started with.
func resumedSettings(run string) (*trainSettings, error) {
	s, err := history.ReadSettings(run)
	if err != nil {
		return nil, err
	}
	if s == nil {
		if _, err := os.Stat(run); pipeline.IsMissing(err) {
			return nil, withHint(usagef("%s does not exist", run),
				"hgld train run --out %s starts a run there; hgld runs list lists the existing runs", word(run))
		}
		return nil, withHint(usagef("%s has no %s: it is not a run directory", run, history.SettingsFile),
			"hgld runs list lists them")
	}
	s.Out = filepath.Clean(run)
	return s, nil
}
