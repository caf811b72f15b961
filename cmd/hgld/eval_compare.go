package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/train"
	"hgld/train/history"
	"hgld/train/recipe"
)

func evalCompareCommand() *cli.Command {
	return &cli.Command{
		Name: "compare", Usage: "compare results with each other, or with a row of a paper", ArgsUsage: "FILE...",
		Description: "  hgld eval compare a.json b.json                        every metric of both\n" +
			"  hgld eval compare --paper sop/happier eval.json        the columns of the recipe's tables\n" +
			"  hgld eval compare --paper sop/happier                  the row of the paper alone",
		Flags: append(commonFlags(), &cli.StringFlag{Name: "paper",
			Usage: "compare with the published rows of `RECIPE` (hgld train recipe list)"},
			&cli.BoolFlag{Name: "other-data",
				Usage: "with --paper: also show results of other data than the paper's"}),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			return runEvalCompare(j, c.String("paper"), c.Bool("other-data"))
		},
	}
}

func runEvalCompare(j *job, paper string, otherData bool) error {
	if len(j.args) == 0 && paper == "" {
		return usagef("name results of `hgld eval run`, or a recipe by --paper")
	}
	var results []*train.Result
	for _, path := range j.args {
		r, err := readResultFile(path)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	files := history.ShortNames(j.args)
	var tables []history.Comparison
	if paper == "" {
		tables = []history.Comparison{history.Compare(files, results)}
	} else {
		r, err := recipe.Get(paper)
		if err != nil {
			return withCode(exitUsage, err)
		}
		if err := fitsPaper(j, &r, results, otherData); err != nil {
			return err
		}
		if tables, err = recipe.ComparePaper(r, files, results); err != nil {
			return withCode(exitUsage, err)
		}
	}
	if j.json {
		return writeJSON(j, tables)
	}
	for i, t := range tables {
		if i > 0 {
			j.print("\n")
		}
		printSideBySide(j, t)
	}
	return nil
}

// fitsPaper rejects results of other data than the recipe's, judging by their levels
// and queries. If they are allowed, it reports them.
func fitsPaper(j *job, r *recipe.Recipe, results []*train.Result, otherData bool) error {
	for i, result := range results {
		if r.Fits(result) {
			continue
		}
		queries := ""
		if r.Queries > 0 {
			queries = fmt.Sprintf(" and %d queries", r.Queries)
		}
		err := usagef("%s was measured on %d queries of %d levels (%s), but %s is of data with %d levels%s: %s",
			j.args[i], result.Queries, len(result.Levels), strings.Join(result.Levels, ", "), r.Name, len(r.Classes), queries, r.Data)
		if !otherData {
			return withHint(err, "name a result of that data; --other-data shows this one anyway")
		}
		j.say("%v", err)
	}
	return nil
}

func printSideBySide(j *job, t history.Comparison) {
	if t.Title != "" {
		j.print("%s\n", t.Title)
	}
	j.print("%-16s", "%")
	for _, s := range t.Sources {
		j.print(" %*s", max(8, len([]rune(s))), s)
	}
	j.print("\n")
	for _, line := range t.Rows {
		j.print("%-16s", line.Key)
		for i, v := range line.Values {
			places := 2
			if t.Sources[i] == "paper" {
				places = 1
			}
			j.print(" %*s", max(8, len([]rune(t.Sources[i]))), decimals(v, places, "–"))
		}
		j.print("\n")
	}
}
