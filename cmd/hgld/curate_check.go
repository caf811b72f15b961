package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"hgld/curate"
	"hgld/curate/format"
	"hgld/internal/regular"
	"hgld/labels"
)

func curateCheckCommand() *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "check a curation for spreadsheet damage and inconsistencies", ArgsUsage: "[FILE...]",
		Description: "  hgld curate check                             the project's draft with its logs: names, " +
			"flags, undecided tags\n" +
			"  hgld curate check sheet.csv                   all problems, with line and column\n" +
			"  hgld curate check --draft draft.json sheet.csv   also missing and respelt tags; exit code 4 on errors",
		Flags: formatFlags(
			&cli.StringFlag{Name: "draft", Usage: "draft that the file was made from; its tags are taken as correctly spelt"},
			&cli.IntFlag{Name: "limit", Usage: "list only the first `N` problems of each file"},
		),
		Action: action(runCurateCheck),
	}
}

func runCurateCheck(c *cli.Context, j *job) error {
	var files []format.Linted
	if len(j.args) == 0 {
		f, err := lintProject(c, j)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	var draft *labels.Draft
	if path := c.String("draft"); path != "" && len(j.args) > 0 {
		d, err := labels.OpenDraft(path)
		if err != nil {
			return err
		}
		draft = d
	}
	for _, path := range j.args {
		data, err := regular.ReadFile(path)
		if err != nil {
			return err
		}
		options := labels.ReadOptions{Split: labels.Split(c.String("split"))}
		found, d, err := format.Lint(data, path, c.String("format"), options, draft)
		if err != nil {
			return withCode(exitUsage, err)
		}
		if d != nil {
			sayLanguages(j, path, d)
		}
		files = append(files, format.NewLinted(path, found))
	}
	return reportLint(j, files)
}

// lintProject checks the curation that results from the project's logs.
func lintProject(c *cli.Context, j *job) (format.Linted, error) {
	s, err := curateStage().Load(j.project, nil)
	if err != nil {
		return format.Linted{}, err
	}
	if c.IsSet("draft") {
		s.Draft = c.String("draft")
	}
	files, err := readCuration(j, s.Draft, s.Logs)
	if err != nil {
		return format.Linted{}, err
	}
	session, err := files.Replay(curate.Skip)
	if err != nil {
		return format.Linted{}, logError(err)
	}
	return format.NewLinted(s.Draft, format.LintSession(s.Draft, session)), nil
}

func reportLint(j *job, files []format.Linted) error {
	failed := 0
	for _, f := range files {
		if f.Errors > 0 {
			failed++
		}
	}
	if j.json {
		if err := writeJSON(j, files); err != nil {
			return err
		}
	} else {
		for _, f := range files {
			for i, p := range f.Problems {
				if j.limit > 0 && i == j.limit {
					j.print("… and %d more\n", len(f.Problems)-i)
					break
				}
				j.print("%s\n", p)
			}
			j.print("%s: %s, %s\n", f.File, count(f.Errors, "error"), count(f.Warnings, "warning"))
		}
	}
	if failed > 0 {
		return withCode(exitIntegrity, fmt.Errorf("curate check: %d of %s with errors", failed, count(len(files), "file")))
	}
	return nil
}
