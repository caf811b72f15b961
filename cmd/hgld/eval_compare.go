package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/texttable"
	"hgld/train"
	"hgld/train/history"
	"hgld/train/recipe"
)

func evalCompareCommand() *cli.Command {
	return &cli.Command{
		Name: "compare", Usage: "results side by side, and next to a paper's row", ArgsUsage: "FILE...",
		Description: "  hgld eval compare a.json b.json                        every metric of both\n" +
			"  hgld eval compare --resample class a.json b.json       intervals and tests over whole classes\n" +
			"  hgld eval compare --format latex a.json b.json         a table for a paper\n" +
			"  hgld eval compare --paper sop/happier eval.json        the columns of the recipe's tables\n" +
			"  hgld eval compare --paper sop/happier                  the row of the paper alone",
		Flags: append(commonFlags(), &cli.StringFlag{Name: "paper",
			Usage: "`RECIPE` whose rows of the tables are quoted (hgld train recipe list)"},
			&cli.BoolFlag{Name: "other-data",
				Usage: "with --paper: show results of other data than the paper's as well"},
			&cli.StringFlag{Name: "resample", Value: "query",
				Usage: "what intervals and tests take as one: `UNIT` query, or class with all its queries"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of intervals and tests"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "of the tables: `FORMAT` text, markdown, latex or csv"}),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			o := compareOptions{paper: c.String("paper"), otherData: c.Bool("other-data"),
				resample: c.String("resample"), seed: c.Uint64("seed"), format: c.String("format")}
			return runEvalCompare(j, o)
		},
	}
}

// comparison is a table of metrics by source, in percent; a number that a source
// does not have is null. `hgld eval compare --json` prints a list of them.
type comparison struct {
	history.Comparison
	Pairs []history.Pair `json:"pairs,omitempty"` // of the first file with each other one
}

// compareOptions are the flags of the command.
type compareOptions struct {
	paper     string
	otherData bool
	resample  string
	seed      uint64
	format    string
}

func (o compareOptions) check(files int) error {
	if files == 0 && o.paper == "" {
		return usagef("name the results of `hgld eval run`, or a paper's row by --paper")
	}
	if _, known := units[o.resample]; !known {
		return usagef("--resample is %.80q, want query or class", o.resample)
	}
	if err := texttable.CheckFormat(o.format); err != nil {
		return withCode(exitUsage, fmt.Errorf("--format: %w", err))
	}
	return nil
}

// pairs compares the results query by query. Where one lacks the values of its queries it
// says so, and compares nothing.
func (o compareOptions) pairs(j *job, files []string, results []*train.Result) ([]history.Pair, error) {
	pairs, err := history.Pairs(files, results, train.NewIntervals(units[o.resample], o.seed))
	if errors.As(err, new(train.NoPerQueryError)) {
		j.say("the differences are not tested, as not all files have the values of single queries: " +
			"hgld eval run --per-query keeps them")
		return nil, nil
	}
	return pairs, withCode(exitUsage, err)
}

func runEvalCompare(j *job, o compareOptions) error {
	if err := o.check(len(j.args)); err != nil {
		return err
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
	var tables []comparison
	if o.paper == "" {
		t := comparison{Comparison: history.Compare(files, results)}
		var err error
		if t.Pairs, err = o.pairs(j, files, results); err != nil {
			return err
		}
		tables = []comparison{t}
	} else {
		r, err := recipe.Get(o.paper)
		if err != nil {
			return withCode(exitUsage, err)
		}
		if err := fitsPaper(j, &r, results, o.otherData); err != nil {
			return err
		}
		list, err := recipe.ComparePaper(r, files, results)
		for _, t := range list {
			tables = append(tables, comparison{Comparison: t})
		}
		if err != nil {
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
		if err := printSideBySide(j, t, o.format); err != nil {
			return err
		}
	}
	return nil
}

// fitsPaper refuses results of other data than the recipe's, as far as their levels
// and queries tell; where they are allowed it says so.
func fitsPaper(j *job, r *recipe.Recipe, results []*train.Result, otherData bool) error {
	for i, result := range results {
		if r.Fits(result) {
			continue
		}
		queries := ""
		if r.Queries > 0 {
			queries = fmt.Sprintf(" and %d queries", r.Queries)
		}
		err := usagef("%s was measured on %d queries of %d levels (%s), and %s is of data with %d levels%s: %s",
			j.args[i], result.Queries, len(result.Levels), strings.Join(result.Levels, ", "), r.Name, len(r.Classes), queries,
			r.Data)
		if !otherData {
			return withHint(err, "name a result of that data; --other-data shows this one anyway")
		}
		j.say("%v", err)
	}
	return nil
}

func printSideBySide(j *job, t comparison, format string) error {
	if format == "csv" && len(t.Pairs) > 0 {
		return history.PairsTable(t.Pairs).Write(j.stdout, format)
	}
	c := texttable.Table{Title: t.Title, Head: append([]string{"%"}, t.Sources...)}
	for _, line := range t.Rows {
		row := []string{line.Key}
		for i, v := range line.Values {
			places := 2
			if t.Sources[i] == "paper" {
				places = 1
			}
			cell := v.Decimals(places, "–")
			if format != "csv" && i < len(line.Intervals) && line.Intervals[i] != nil {
				cell += " ±" + (100*line.Intervals[i].Half()).Decimals(places, "–")
			}
			row = append(row, cell)
		}
		c.Rows = append(c.Rows, row)
	}
	if err := c.Write(j.stdout, format); err != nil {
		return err
	}
	for _, p := range t.Pairs {
		j.print("\n")
		if err := p.Table().Write(j.stdout, format); err != nil {
			return err
		}
	}
	return nil
}
