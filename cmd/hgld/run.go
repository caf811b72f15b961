package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/internal/exitcode"
	"hgld/internal/registry"
)

func runCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "execute the stale stages of hgld.yaml in order",
		Description: "  hgld run                    every stage that is missing or stale\n  hgld run --until curate     up to the hierarchy\n  hgld run --limit 200        a trial of all stages on 200 items\n  hgld run --dry-run          what would run, and why\n  hgld run --json             what each stage that runs has to report, as JSON",
		Flags: append(commonFlags(),
			&cli.IntFlag{Name: "limit", Usage: "trial: every stage takes only the first `N` items"},
			&cli.StringFlag{Name: "until", Usage: "stop after `STAGE`"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print what would run, and why"},
			deviceFlag(),
		),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			if err := needsProject(j.project); err != nil {
				return err
			}
			stages, err := stagesUntil(c.String("until"))
			if err != nil {
				return err
			}
			if c.Bool("dry-run") {
				return planRun(j, stages)
			}
			return runStages(j, stages)
		},
	}
}

// stageNames lists the stages in order.
func stageNames() []string {
	var names []string
	for _, s := range sections() {
		names = append(names, s.name)
	}
	return names
}

// stagesUntil are the stages up to the one that is named, or all of them.
func stagesUntil(name string) ([]stage, error) {
	all := sections()
	if name == "" {
		return all, nil
	}
	i := slices.Index(stageNames(), name)
	if i < 0 {
		return nil, withCode(exitUsage, registry.Unknown("stage", name, stageNames()))
	}
	return all[:i+1], nil
}

// planRun is `hgld run --dry-run`: what status says of each stage, and which of
// them would run.
func planRun(j *job, stages []stage) error {
	states, err := j.project.states(j.limit)
	if err != nil {
		return err
	}
	type planned struct {
		state
		Run bool `json:"run"`
	}
	var plan []planned
	for _, st := range states[:len(stages)] {
		plan = append(plan, planned{st, !st.good(j.limit)})
	}
	if j.json {
		return writeJSON(j, map[string]any{"project": j.project.dir, "stages": plan})
	}
	for _, st := range plan {
		if st.Run {
			j.print("%s\n", st.heading(j.project))
		} else {
			j.print("%-8s %s\n", st.Stage, st.State)
		}
	}
	return nil
}

// heading says why a stage runs, and by which command.
func (st state) heading(p *project) string {
	return fmt.Sprintf("%-8s %s: %s -> %s", st.Stage, st.State, st.describe(p), p.typed(st.Command))
}

// runStages executes each stage that is not done, up to the first in which something
// failed: whoever started it decides whether the stages after it go on without that.
func runStages(j *job, stages []stage) error {
	if err := checkStages(j.project, stages); err != nil {
		return err
	}
	for i, s := range stages {
		ran, err := runStale(j, s)
		if exitCode(err) == exitSomeFailed && i+1 < len(stages) {
			return errors.Join(err, stoppedAfter(j, s, stages[i+1], exitcode.IsRetryable(err)))
		}
		if err != nil {
			return err
		}
		if !ran {
			j.say("%-8s done", s.name)
		}
	}
	return nil
}

// stoppedAfter says that a run ended before its last stage, and how to go on.
func stoppedAfter(j *job, s, next stage, repeatable bool) error {
	err := withCode(exitSomeFailed, fmt.Errorf("run: stopped after %s", s.name))
	if repeatable {
		return withHint(err, "`%s` tries them again first; `%s` goes on without them",
			j.project.typed("run"), j.project.typed(next.command))
	}
	return withHint(err, "`%s` goes on without them", j.project.typed("run"))
}

// runStale executes one stage unless its result is good.
func runStale(j *job, s stage) (bool, error) {
	settings := s.settings()
	if err := j.project.load(nil, s.name, settings); err != nil {
		return false, err
	}
	st, err := s.stateOf(j.project, settings)
	if err != nil || st.good(j.limit) {
		return false, err
	}
	j.say("%s", st.heading(j.project))
	return true, s.execute(j, settings)
}
