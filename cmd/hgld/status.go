package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/internal/texttable"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "what is done, what is stale and why, and the next command",
		Description: "  hgld status                 one line per stage\n" +
			"  hgld status --json          the same, for programs",
		Flags: append(commonFlags(), storeFlag()),
		Action: action(func(c *cli.Context, j *job) error {
			if err := j.project.Require(); err != nil {
				return err
			}
			states, err := j.project.States(0)
			if err != nil {
				return err
			}
			if err := j.ctx.Err(); err != nil { // the states are those of stages that nobody looked at
				return err
			}
			var unknown error // the first stage that could not be looked at
			for _, s := range states {
				unknown = cmp.Or(unknown, s.Err)
			}
			next := nextCommand(j.project, states)
			if j.json {
				return errors.Join(writeJSON(j, map[string]any{"project": j.project.Dir, "stages": j.project.AsNamed(states),
					"off": j.project.Off(), "next": next}), unknown)
			}
			var rows [][]string
			for _, s := range states {
				rows = append(rows, texttable.Row(s.Stage, s.State, s.Describe(j.project)))
			}
			j.print("%s", texttable.Format("%-8s %-8s %s", rows...))
			if off := j.project.Off(); len(off) > 0 {
				j.print("%s", texttable.Format("%-8s %s", []string{"off", strings.Join(off, ", ")}))
			}
			if note := recalled(states); note != "" {
				j.print("\n%s\n", note)
			}
			if unknown != nil {
				return unknown
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
		return fmt.Sprintf("%s, then %s", typed(p, byHand[next.Stage]), typedAgain(p, *next))
	case len(lacks) > 0:
		return fmt.Sprintf("provide %s, then %s (or hgld %s --help)", strings.Join(p.Named(lacks), ", "),
			typedAgain(p, *next), next.Command)
	}
	return typedAgain(p, *next)
}

// typedAgain returns the command of a stage with what it was given before: "hgld cluster run --k 20".
func typedAgain(p *pipeline.Project, st pipeline.State) string {
	command := typed(p, st.Command)
	for _, g := range st.Given {
		switch {
		case g.Flag == "":
			command += " -o " + word(g.Key+"="+g.Value)
		case g.Value == "true" || g.Value == "false":
			command += " --" + g.Flag + "=" + g.Value
		default:
			command += " --" + g.Flag + " " + word(g.Value)
		}
	}
	return command
}

// recalled says which settings come from earlier commands, and where to write them. It returns "" if
// none does.
func recalled(states []pipeline.State) string {
	var list []string
	for _, st := range states {
		for _, g := range st.Given {
			list = append(list, fmt.Sprintf("%s.%s: %s", st.Stage, g.Key, g.Value))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "as given to an earlier command, until " + projectFile + " says otherwise: " + strings.Join(list, ", ")
}

// typed returns a command as a user types it for a project: "hgld run -C DIR".
func typed(p *pipeline.Project, command string) string {
	if p.Asked != "" {
		command += " -C " + word(p.Asked)
	}
	return "hgld " + command
}
