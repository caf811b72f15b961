package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"hgld/curate/format"
)

func curateCompareCommand() *cli.Command {
	return &cli.Command{
		Name: "compare", Usage: "list the differences between two curations", ArgsUsage: "A B",
		Description: "  hgld curate compare old.json hierarchy.json                    groups renamed, merged, split, new, " +
			"gone; tags moved\n" +
			"  hgld curate compare --draft draft.json anna.json ben.json      with the landmarks that each change affects\n" +
			"  hgld curate compare --json sheet.csv hierarchy.json            files of any format",
		Flags: formatFlags(
			&cli.StringFlag{Name: "draft", Usage: "draft that counts landmarks and images (default: the project's, if there " +
				"is one)"},
			&cli.IntFlag{Name: "limit", Usage: "name the first `N` tags of a change (0: all)", Value: 5},
		),
		Action: actionWithArgs(2, 2, "two files", runCurateCompare),
	}
}

func runCurateCompare(c *cli.Context, j *job) error {
	draft, _, err := curateFiles(c, j)
	if err != nil {
		return err
	}
	var sides [2]*format.Document
	for i, path := range j.args {
		if sides[i], err = readFormat(c, j, path); err != nil {
			return err
		}
		if err := countByDraft(c, sides[i], draft, true); err != nil {
			return err
		}
	}
	d, err := format.Diff(sides[0], sides[1])
	if err != nil {
		return fmt.Errorf("%s and %s: %w", j.args[0], j.args[1], err)
	}
	return j.show(d, d.Text(j.args[0], j.args[1], j.limit, listsAll))
}
