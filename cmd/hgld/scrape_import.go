package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/labels"
	"hgld/scrape"
)

func scrapeImportCommand() *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "import tags from a CSV file", ArgsUsage: "FILE",
		Description: "  hgld scrape import rows.csv                            reads landmark_id, category, supercategory\n" +
			"  hgld scrape import --column instance_of --split train rows.csv   reads another column",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "out", Usage: "file for the tags, one line per landmark",
				DefaultText: "scrape.out of the project: tags.jsonl"},
			&cli.StringFlag{Name: "column", Usage: "`NAME` of the column with the tag", Value: "supercategory"},
			&cli.StringFlag{Name: "split", Usage: "`SPLIT` of landmarks if neither a column nor the file name gives it"},
			limitFlag(),
			replaceFlag(),
		),
		Action: action(runScrapeImport),
	}
}

// runScrapeImport is `hgld scrape import`. If it replaces the project's tags, it records
// stage 1 as done, with the imported file as its input.
func runScrapeImport(c *cli.Context, j *job) error {
	if len(j.args) != 1 {
		return withHint(usagef("scrape import takes one file; got %d", len(j.args)), "hgld scrape import rows.csv")
	}
	path := j.args[0]
	options, err := splitFlag(c)
	if err != nil {
		return err
	}
	stage := scrapeStage()
	settings, err := stage.Load(j.project, nil)
	if err != nil {
		return err
	}
	out := settings.Out
	if c.IsSet("out") {
		out = c.String("out")
	}
	if out == "" {
		return usagef("scrape import: the tags have no file name; want one such as --out tags.jsonl")
	}
	if err := j.project.CheckOutputs(pipeline.Writing{Command: "scrape import", Stage: stage.Name, In: []string{path},
		Out: []pipeline.Output{{Path: out, Kind: kindTags}}, Replace: j.replace}); err != nil {
		return err
	}
	in, outputs := stage.Files(settings)
	before, err := fingerprintImport(path, in)
	if err != nil {
		return err
	}
	if err := importTags(j, path, out, c.String("column"), options.Split); err != nil {
		return err
	}
	if !atomicfile.Same(out, settings.Out) {
		return nil // the project does not use these tags
	}
	return stage.Record(j, settings, before, outputs, false)
}

// fingerprintImport returns the fingerprints of the imported file and of the stage's own
// inputs, which would otherwise look changed. It omits a pipe, which can be read only once.
func fingerprintImport(path string, in []string) (map[string]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() {
		whole, err := filepath.Abs(path) // status may run in another working directory
		if err != nil {
			return nil, err
		}
		in = append(in, whole)
	}
	return stages().Fingerprint(in)
}

// importTags converts a table of landmarks and tags to tags.jsonl.
func importTags(j *job, path, out, column string, split labels.Split) error {
	j.log("reading %s", path)
	rows, err := readTagTable(path, column, split)
	if err != nil {
		return err
	}
	if j.limit > 0 {
		rows = rows[:min(j.limit, len(rows))]
	}
	records := make([]labels.Record, len(rows))
	tagged := 0
	for i, row := range rows {
		if records[i] = scrape.Imported(row); records[i].Outcome == labels.OK {
			tagged++
		}
	}
	header := labels.TagsHeader{Tool: "hgld " + version, Source: "import of " + path}
	if err := atomicfile.Write(out, func(w io.Writer) error { return labels.WriteTags(w, header, records) }); err != nil {
		return fmt.Errorf("scrape import: %w", err)
	}
	if j.json {
		return writeJSON(j, struct {
			Out       string `json:"out"`
			Landmarks int    `json:"landmarks"`
			Tagged    int    `json:"tagged"`
		}{out, len(rows), tagged})
	}
	j.print("%s written: %d of %d landmarks have a tag\n", out, tagged, len(rows))
	return nil
}

// readTagTable reads the file to import. It returns a usage error if the column named by
// --column is missing.
func readTagTable(path, column string, split labels.Split) ([]labels.TagRow, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := labels.ReadTagTable(f, path, column, labels.ReadOptions{Split: split})
	if missing := (*labels.ColumnError)(nil); errors.As(err, &missing) {
		return nil, usagef("%s:1: %w", path, registry.Unknown("column", missing.Column, missing.Have))
	}
	return rows, labelHint(err, path)
}
