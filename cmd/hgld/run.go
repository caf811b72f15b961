package main

import (
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/internal/registry"
)

func runCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "execute the stale stages of hgld.yaml in order",
		Description: "  hgld run                    every stage that is missing or stale\n  hgld run --until curate     up to the hierarchy\n  hgld run --limit 200        a trial of all stages on 200 items",
		Flags: append(commonFlags(),
			&cli.IntFlag{Name: "limit", Usage: "trial: every stage takes only the first `N` items"},
			&cli.StringFlag{Name: "until", Usage: "stop after `STAGE`"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would run"},
		),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			if err := needsProject(j.project); err != nil {
				return err
			}
			return runStages(j, c.String("until"), c.Bool("dry-run"))
		},
	}
}

// runStages executes each stage that is not done. A stage in which some items
// failed does not stop those after it; the exit code still says so.
func runStages(j *job, until string, dry bool) error {
	var names []string
	for _, s := range sections() {
		names = append(names, s.name)
	}
	if until != "" && !slices.Contains(names, until) {
		return withCode(exitUsage, registry.Unknown("stage", until, names))
	}
	var partial error
	for _, s := range sections() {
		ran, err := runStale(j, s, dry)
		if err != nil && exitCode(err) != exitSomeFailed {
			return err
		}
		partial = errors.Join(partial, err)
		if !ran {
			j.say("%-8s done", s.name)
		}
		if s.name == until {
			break
		}
	}
	return withCode(exitSomeFailed, partial)
}

// runStale executes one stage unless its result is good.
func runStale(j *job, s stage, dry bool) (bool, error) {
	settings := s.settings()
	if err := j.project.load(nil, s.name, settings); err != nil {
		return false, err
	}
	st, err := s.stateOf(j.project, settings)
	if err != nil {
		return false, err
	}
	if st.State == "done" || st.State == "trial" && j.limit > 0 {
		return false, nil
	}
	why := st.State
	if st.Why != "" {
		why += ": " + st.Why
	}
	j.say("%-8s %s -> hgld %s", s.name, why, s.command)
	if dry {
		return true, nil
	}
	return true, s.execute(j, settings)
}
