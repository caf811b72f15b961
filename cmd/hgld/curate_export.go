package main

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/curate/format"
	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
	"hgld/labels"
)

func curateExportCommand() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write a curation in another format", ArgsUsage: "[FILE [OUT]]",
		Description: "  hgld curate export --to sheet                              hierarchy.json as the authors' sheet, " +
			"to stdout\n" +
			"  hgld curate export --to sheet --tags tags.jsonl hierarchy.json sheet.csv     with the landmarks of each tag\n" +
			"  hgld curate export --to skos hierarchy.json places.ttl     SKOS in Turtle\n" +
			"  hgld curate export --to labels --tags tags.jsonl hierarchy.json labels.csv   one row per landmark\n" +
			"  hgld curate export --to draft sheet.csv draft.json         a sheet, to curate from\n\n" +
			"Formats:\n" + formatTable(),
		Flags: formatFlags(
			&cli.StringFlag{Name: "to", Usage: "`FORMAT` to write: " + strings.Join(format.Formats.Names(), ", ")},
			&cli.StringFlag{Name: "draft", Usage: "draft with the counts of landmarks and the Wikidata items (default: the " +
				"project's, for its own hierarchy)"},
			&cli.StringFlag{Name: "tags",
				Usage: "tags.jsonl of stage 1: landmarks for --to labels, counts for the others"},
			replaceFlag(),
		),
		Action: actionWithArgs(0, 2, "a file to read and one to write", runCurateExport),
	}
}

// formatTable lists the formats for a help text.
func formatTable() string {
	var lines []string
	for _, f := range format.Formats {
		lines = append(lines, "  "+f.Name+strings.Repeat(" ", max(1, 12-len(f.Name)))+f.About)
	}
	return strings.Join(lines, "\n")
}

// exportKinds are the kinds of the formats that hgld recognises as its own.
var exportKinds = map[string]string{"hierarchy": kindHierarchy, "draft": kindDraft, "labels": kindLabels,
	"skos": kindSKOS}

func runCurateExport(c *cli.Context, j *job) error {
	to := c.String("to")
	if to == "" {
		return usagef("--to FORMAT is missing; formats: %s", strings.Join(format.Formats.Names(), ", "))
	}
	if _, err := format.Formats.Get("format", to); err != nil {
		return withCode(exitUsage, err)
	}
	draft, path, err := curateFiles(c, j)
	if err != nil {
		return err
	}
	own := len(j.args) == 0
	if len(j.args) == 2 {
		in := []string{j.args[0], c.String("draft"), c.String("tags")}
		out := pipeline.Output{Path: j.args[1], Kind: cmp.Or(exportKinds[to], kindForeign)}
		if err := j.checkOutputs("curate export", in, out); err != nil {
			return err
		}
	}
	if !own {
		path = j.args[0]
	}
	d, err := readFormat(c, j, path)
	if err != nil {
		if own && errors.Is(err, fs.ErrNotExist) {
			return withHint(err, "`hgld curate apply` makes it; or name the file to export")
		}
		return err
	}
	if err := countByDraft(c, d, draft, own); err != nil {
		return err
	}
	if tags := c.String("tags"); tags != "" {
		records, err := labels.OpenTags(tags)
		if err != nil {
			return err
		}
		if to == "labels" {
			err = d.LabelBy(records)
		} else {
			d.CountByTags(records)
		}
		if err != nil {
			return err
		}
	}
	var b bytes.Buffer
	lost, err := d.Write(&b, to)
	if err != nil {
		return err
	}
	if len(lost) > 0 {
		j.log("%s cannot hold %s", to, strings.Join(lost, ", "))
	}
	if len(j.args) < 2 {
		_, err := asFile(j.stdout).Write(b.Bytes())
		return err
	}
	if err := atomicfile.WriteFile(j.args[1], b.Bytes()); err != nil {
		return err
	}
	j.log("%s written", j.args[1])
	return nil
}

// countByDraft adds the counts of the draft that was named. For the project's own
// hierarchy it defaults to the project's draft.
func countByDraft(c *cli.Context, d *format.Document, path string, own bool) error {
	if !own && !c.IsSet("draft") {
		return nil
	}
	draft, err := labels.OpenDraft(path)
	if errors.Is(err, fs.ErrNotExist) && !c.IsSet("draft") {
		return nil
	}
	if err == nil {
		d.CountBy(draft)
	}
	return err
}
