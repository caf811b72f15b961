package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/train"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/experiment/runs"
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
		Flags:     append(stageFlags(), deviceFlag(), commandFlag(), storeFlag()),
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
			if err := j.project.Section("train", s).Assign(j.project.Assignments(c)); err != nil {
				return withCode(exitUsage, err)
			}
			if err := j.spread(j.device); err != nil {
				return err
			}
			return j.ranks.Leave(executeTraining(trainStage().Continued(), j, s))
		}),
	}
}

// resumedSettings reads the settings that a run was started with.
func resumedSettings(run string) (*trainSettings, error) {
	s, err := runs.ReadSettings(run)
	if err != nil {
		return nil, err
	}
	if s == nil {
		if _, err := os.Stat(run); pipeline.IsMissing(err) {
			return nil, withHint(usagef("%s does not exist", run),
				"hgld train run --out %s starts a run there; hgld runs list lists the existing runs", word(run))
		}
		return nil, withHint(usagef("%s has no %s: it is not a run directory", run, runs.SettingsFile),
			"hgld runs list lists them")
	}
	s.Out = filepath.Clean(run)
	return s, nil
}

// runAdvice has the exit codes and next steps for errors of a run directory.
var runAdvice = []advice{
	kind[*config.Error](exitUsage, nil),
	kind(exitUsage, func(*train.CommandError) string {
		return "review the command, then pass --allow-command"
	}),
	kind(exitLocked, func(*checkpoint.TakenOverError) string {
		return "the directory has the other process's checkpoints; this one's steps since its last checkpoint are lost"
	}),
	kind(exitUsage, func(*checkpoint.ResumeError) string {
		return "rename the run directory to keep the run, or delete it, and the same command trains anew; hgld train " +
			"run --out DIR trains in another directory; or restore the settings of this run"
	}),
	kind(exitIntegrity, func(e *checkpoint.DamagedError) string {
		if !strings.HasPrefix(filepath.Base(filepath.Dir(e.Path)), "step-") {
			return "remove only the file " + e.Path
		}
		return "an older checkpoint may be intact: hgld train resume falls back to it; hgld train run --out DIR " +
			"starts a new run elsewhere"
	}),
	kind(exitIntegrity, func(e *runs.FormatError) string {
		if filepath.Base(e.Path) != runs.SettingsFile {
			return ""
		}
		return "restore the file; to train with other settings, name it with --config and a new run with --out"
	}),
}
