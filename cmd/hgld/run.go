package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/internal/registry"
)

func runCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "execute the stale stages of hgld.yaml in order",
		Description: "  hgld run                    every stage that is missing or stale\n" +
			"  hgld run --until curate     up to the hierarchy\n" +
			"  hgld run --limit 200        a trial of every stage on 200 items\n" +
			"  hgld run --dry-run          print what would run, and why\n" +
			"  hgld run --json             print the result of each stage as JSON",
		Flags: append(commonFlags(),
			limitFlag(),
			&cli.StringFlag{Name: "until", Usage: "stop after `STAGE`"},
			dryRunFlag(),
			deviceFlag(), commandFlag(), storeFlag(),
		),
		Action: action(func(c *cli.Context, j *job) error {
			if err := j.project.Require(); err != nil {
				return err
			}
			list, err := j.project.Until(c.String("until"))
			if errors.As(err, new(*registry.UnknownError)) {
				return fmt.Errorf("--until: %w", err)
			}
			if err != nil {
				return err
			}
			if c.Bool("dry-run") {
				return printPlan(j, len(list))
			}
			return pipeline.Run(j, list)
		}),
	}
}

// printPlan is `hgld run --dry-run`. It prints the state of the stages up to --until, and
// which of them would run.
func printPlan(j *job, first int) error {
	plan, err := j.project.Plan(j.limit, first)
	if err != nil {
		return err
	}
	if j.json {
		return writeJSON(j, map[string]any{"project": j.project.Dir, "stages": plan})
	}
	for _, st := range plan {
		if st.Run {
			j.print("%s\n", j.heading(st.State))
		} else {
			j.print("%-8s %s\n", st.Stage, st.State.State)
		}
		if note := recalled([]pipeline.State{st.State}); note != "" {
			j.print("%-8s %s\n", "", note)
		}
	}
	return nil
}
