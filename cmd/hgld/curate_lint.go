package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"hgld/curate"
	"hgld/curate/format"
	"hgld/labels"
)

func curateLintCommand() *cli.Command {
	return &cli.Command{
		Name: "lint", Usage: "find damage done by people or spreadsheets", ArgsUsage: "[FILE...]",
		Description: "  hgld curate lint                             the project's draft with its logs: names, flags, " +
			"undecided tags\n" +
			"  hgld curate lint sheet.csv                   all damage, with line and column\n" +
			"  hgld curate lint --draft draft.json sheet.csv   also lost and respelt tags; exit code 4 if there are errors",
		Flags: formatFlags(
			&cli.StringFlag{Name: "draft", Usage: "draft that the file was made from, whose tags have the right spelling"},
			&cli.IntFlag{Name: "limit", Usage: "list the first `N` problems of each file"},
		),
		Action: runCurateLint,
	}
}

// lintedFile is the result for one file.
type lintedFile struct {
	File     string           `json:"file"`
	Errors   int              `json:"errors"`
	Warnings int              `json:"warnings"`
	Problems []format.Problem `json:"problems"`
}

func runCurateLint(c *cli.Context) error {
	j, err := newJob(c)
	if err != nil {
		return err
	}
	var files []lintedFile
	if len(j.args) == 0 {
		f, err := lintProject(c, j)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	var draft *labels.Draft
	if path := c.String("draft"); path != "" && len(j.args) > 0 {
		if draft, err = readDraft(path); err != nil {
			return err
		}
	}
	for _, path := range j.args {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found, err := format.Lint(data, path, c.String("format"), labels.ReadOptions{Split: labels.Split(c.String("split"))},
			draft)
		if err != nil {
			return withCode(exitUsage, err)
		}
		files = append(files, newLinted(path, found))
	}
	return reportLint(j, files)
}

func newLinted(path string, found []format.Problem) lintedFile {
	f := lintedFile{File: path, Problems: found}
	if found == nil {
		f.Problems = []format.Problem{}
	}
	for _, p := range found {
		if p.Warning {
			f.Warnings++
		} else {
			f.Errors++
		}
	}
	return f
}

// lintProject checks the state that the project's logs lead to. Its problems are for
// the curator to judge, so none is an error.
func lintProject(c *cli.Context, j *job) (lintedFile, error) {
	s, err := curateStage().Load(j.project, nil)
	if err != nil {
		return lintedFile{}, err
	}
	if c.IsSet("draft") {
		s.Draft = c.String("draft")
	}
	files, err := readCuration(j, s.Draft, s.Logs)
	if err != nil {
		return lintedFile{}, err
	}
	session, err := files.Replay(curate.Skip)
	if err != nil {
		return lintedFile{}, logError(err)
	}
	var found []format.Problem
	for _, p := range session.Problems() {
		found = append(found, format.Problem{Warning: true, File: s.Draft,
			Found: fmt.Sprintf("%s %.80q %s", session.Levels()[p.Level], p.Name, p.What),
			Next:  "rename the group, or note that the source spells it so"})
	}
	for _, r := range session.Undecided() {
		found = append(found, format.Problem{Warning: true, File: s.Draft,
			Found: fmt.Sprintf("%s %v is undecided", session.Levels()[0], r), Next: "accept, move or drop it"})
	}
	return newLinted(s.Draft, found), nil
}

func reportLint(j *job, files []lintedFile) error {
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
		return withCode(exitIntegrity, fmt.Errorf("curate lint: %d of %s with errors", failed, count(len(files), "file")))
	}
	return nil
}
