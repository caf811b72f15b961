package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "what is done, what is stale and why, and the next command",
		Description: "  hgld status                 one line per stage\n" +
			"  hgld status --json          the same, for programs",
		Flags: commonFlags(),
		Action: action(func(c *cli.Context, j *job) error {
			if err := j.project.Require(); err != nil {
				return err
			}
			states, err := j.project.States(0)
			if err != nil {
				return err
			}
			next := j.project.Next(states)
			if j.json {
				return writeJSON(j, map[string]any{"project": j.project.Dir, "stages": j.project.AsNamed(states),
					"off": j.project.Off(), "next": next})
			}
			for _, s := range states {
				j.print("%-8s %-8s %s\n", s.Stage, s.State, s.Describe(j.project))
			}
			if off := j.project.Off(); len(off) > 0 {
				j.print("%-8s %s\n", "off", strings.Join(off, ", "))
			}
			j.print("\nnext: %s\n", next)
			return nil
		}),
	}
}
