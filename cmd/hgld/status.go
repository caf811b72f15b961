package main

import (
	"encoding/json"

	"github.com/urfave/cli/v2"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "what is done, what is stale and why, and the next command",
		Description: "  hgld status                 one line per stage\n" +
			"  hgld status --json          the same for a program",
		Flags: commonFlags(),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			if err := j.project.Require(); err != nil {
				return err
			}
			states, err := j.project.States(0)
			if err != nil {
				return err
			}
			next := j.project.Next(states)
			if j.json {
				for i := range states {
					states[i].Outputs, states[i].Missing = j.project.Named(states[i].Outputs),
						j.project.Named(states[i].Missing)
				}
				enc := json.NewEncoder(j.stdout)
				enc.SetIndent("", " ")
				return enc.Encode(map[string]any{"project": j.project.Dir, "stages": states, "next": next})
			}
			for _, s := range states {
				j.print("%-8s %-8s %s\n", s.Stage, s.State, s.Describe(j.project))
			}
			j.print("\nnext: %s\n", next)
			return nil
		},
	}
}
