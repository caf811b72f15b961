package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
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
			next := nextCommand(j.project, states)
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
			line := "next: " + next
			if next == "" {
				line = "everything is done"
			}
			if next == "" && pipeline.AllDone(states, "shards", "train") {
				line += "; " + typed(j.project, "search IMAGE") + " finds the images nearest to a new one"
			}
			j.print("\n%s\n", line)
			return nil
		}),
	}
}

// byHand has the commands in which a user makes what a stage reads and no other stage writes.
var byHand = map[string]string{"curate": "curate serve"}

// nextCommand returns what the user should do next, or "" if every stage is done.
func nextCommand(p *pipeline.Project, states []pipeline.State) string {
	next, lacks := pipeline.Next(states)
	switch {
	case next == nil:
		return ""
	case next.Stage == "cluster" && carryCommand(p) != "":
		return typed(p, carryCommand(p))
	case len(lacks) > 0 && byHand[next.Stage] != "":
		return fmt.Sprintf("%s, then %s", typed(p, byHand[next.Stage]), typed(p, next.Command))
	case len(lacks) > 0:
		return fmt.Sprintf("provide %s, then %s (or hgld %s --help)", strings.Join(p.Named(lacks), ", "),
			typed(p, next.Command), next.Command)
	}
	return typed(p, next.Command)
}

// typed returns a command as a user types it for a project: "hgld run -C DIR".
func typed(p *pipeline.Project, command string) string {
	if p.Asked != "" {
		command += " -C " + word(p.Asked)
	}
	return "hgld " + command
}
