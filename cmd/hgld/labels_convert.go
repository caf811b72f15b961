package main

import (
	"io"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
	"hgld/labels"
)

func labelsConvertCommand() *cli.Command {
	return &cli.Command{
		Name: "convert", Usage: "write labels in another layout", ArgsUsage: "FILE [OUT]",
		Description: "  hgld labels convert --to json index_labels.csv labels.json      with split and level names\n" +
			"  hgld labels convert --to levels train_labels.csv                 one column per level, to stdout\n" +
			"  hgld labels convert --to hierarchical --categories index_label_to_category.csv index_3col.csv index_5col.csv",
		Flags: labelFlags(
			&cli.StringFlag{Name: "to", Usage: "`FORM`: hierarchical, three-column, clusters, category, levels, json"},
			&cli.StringFlag{Name: "categories",
				Usage: "label `FILE` of the same split to take missing categories and tags from"},
			limitFlag(),
			replaceFlag(),
		),
		Action: actionWithArgs(1, 2, "a file to read and one to write", runLabelsConvert),
	}
}

func runLabelsConvert(c *cli.Context, j *job) error {
	if c.String("to") == "" {
		return usagef("labels convert: --to FORM is missing; forms: %v", labels.Forms)
	}
	form, err := labelForm(c.String("to"))
	if err != nil {
		return err
	}
	if len(j.args) == 2 {
		if err := checkFormInName(j.args[1], form); err != nil {
			return err
		}
		out := pipeline.Output{Path: j.args[1], Kind: kindLabels}
		if err := j.checkOutputs("labels convert", []string{j.args[0], c.String("categories")}, out); err != nil {
			return err
		}
	}
	table, err := readLabels(c, j.args[0], true)
	if err != nil {
		return labelHint(err, j.args[0])
	}
	if path := c.String("categories"); path != "" {
		if err := fillFrom(c, j, table, path); err != nil {
			return err
		}
	}
	if j.limit > 0 {
		table.Rows = table.Rows[:min(j.limit, len(table.Rows))]
	}
	if len(j.args) == 1 {
		return table.Write(asFile(j.stdout), form)
	}
	out := j.args[1]
	if err := checkSplitInName(out, table); err != nil {
		return err
	}
	if err := atomicfile.Write(out, func(w io.Writer) error { return table.Write(w, form) }); err != nil {
		return err
	}
	j.log("%s written: %d rows", out, len(table.Rows))
	return nil
}

func fillFrom(c *cli.Context, j *job, table *labels.Table, path string) error {
	from, err := readLabels(c, path, true)
	if err != nil {
		return labelHint(err, path)
	}
	n, err := table.Fill(from)
	if err != nil {
		return labelHint(err, path)
	}
	j.log("%d of %d rows completed from %s", n, len(table.Rows), path)
	return nil
}
