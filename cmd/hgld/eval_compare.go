package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/scripts/recipes"
	"hgld/train"
)

func evalCompareCommand() *cli.Command {
	return &cli.Command{
		Name: "compare", Usage: "results side by side, and beside a paper's row", ArgsUsage: "FILE...",
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
	Title   string         `json:"title"`
	Sources []string       `json:"sources"` // "paper", and the files
	Rows    []comparedLine `json:"rows"`
	Pairs   []comparedPair `json:"pairs,omitempty"` // of the first file with each other one
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
		return usagef("--resample is %q, want query or class", o.resample)
	}
	return checkFormat(o.format)
}

type comparedLine struct {
	Key    string         `json:"key"`
	Values []train.Number `json:"values"` // one a source

	Intervals []*train.Ends `json:"intervals,omitempty"` // one a source; nil: none is known
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
	files := columnNames(j.args)
	var tables []comparison
	if o.paper == "" {
		t := compareResults(files, results)
		var err error
		if t.Pairs, err = comparePairs(j, o, files, results); err != nil {
			return err
		}
		tables = []comparison{t}
	} else {
		var err error
		if err = fitsPaper(j, o.paper, results, o.otherData); err != nil {
			return err
		}
		if tables, err = comparePaper(o.paper, files, results); err != nil {
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

// columnNames are the names of files without folder and extension, and with as many
// folders as it takes to tell all of them apart.
func columnNames(paths []string) []string {
	names := make([]string, len(paths))
	for folders := 0; ; folders++ {
		whole := true
		for i, path := range paths {
			parts := strings.Split(filepath.ToSlash(strings.TrimSuffix(path, ".json")), "/")
			from := max(0, len(parts)-1-folders)
			names[i], whole = strings.Join(parts[from:], "/"), whole && from == 0
		}
		if different := slices.Compact(slices.Sorted(slices.Values(names))); whole || len(different) == len(names) {
			return names
		}
	}
}

// compareResults has every metric that one of the results has.
func compareResults(files []string, results []*train.Result) comparison {
	t := comparison{Sources: files}
	var keys []string
	for _, r := range results {
		for _, v := range r.Values {
			if !slices.Contains(keys, v.Key) {
				keys = append(keys, v.Key)
			}
		}
	}
	for _, key := range keys {
		line := comparedLine{Key: key}
		for _, r := range results {
			line.Values = append(line.Values, measured(r, key))
			line.Intervals = append(line.Intervals, r.IntervalOf(key))
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// fitsPaper refuses results of other data than the recipe's, as far as their levels
// and queries tell; where they are allowed it says so.
func fitsPaper(j *job, name string, results []*train.Result, otherData bool) error {
	r, err := recipes.Get(name)
	if err != nil {
		return withCode(exitUsage, err)
	}
	for i, result := range results {
		levels := len(result.Levels)
		if levels == len(r.Classes) && (r.Queries == 0 || r.Queries == result.Queries) {
			continue
		}
		queries := ""
		if r.Queries > 0 {
			queries = fmt.Sprintf(" and %d queries", r.Queries)
		}
		err := usagef("%s was measured on %d queries of %d levels (%s), and %s is of data with %d levels%s: %s",
			j.args[i], result.Queries, levels, strings.Join(result.Levels, ", "), name, len(r.Classes), queries, r.Data)
		if !otherData {
			return withHint(err, "name a result of that data; --other-data shows this one all the same")
		}
		j.say("%v", err)
	}
	return nil
}

// comparePaper has the columns of each table that the recipe stands in.
func comparePaper(name string, files []string, results []*train.Result) ([]comparison, error) {
	r, err := recipes.Get(name)
	if err != nil {
		return nil, err
	}
	published, err := recipes.Published()
	if err != nil {
		return nil, err
	}
	var list []comparison
	for _, place := range r.Rows {
		table, numbers, err := published.Find(place)
		if err != nil {
			return nil, err
		}
		t := comparison{Title: published.Papers[table.Paper] + ", table " + place.Table + ", " + place.Method + " on " + place.Part + " (quoted)",
			Sources: append([]string{"paper"}, files...)}
		for _, n := range numbers {
			line := comparedLine{Key: n.Key, Values: []train.Number{train.Number(n.Value)}}
			for _, r := range results {
				line.Values = append(line.Values, measured(r, n.Key))
			}
			t.Rows = append(t.Rows, line)
		}
		list = append(list, t)
	}
	return list, nil
}

func printSideBySide(j *job, t comparison, format string) error {
	if format == "csv" && len(t.Pairs) > 0 {
		return pairsCSV(t.Pairs).write(j.stdout, format)
	}
	c := cells{title: t.Title, head: append([]string{"%"}, t.Sources...)}
	for _, line := range t.Rows {
		row := []string{line.Key}
		for i, v := range line.Values {
			places := 2
			if t.Sources[i] == "paper" {
				places = 1
			}
			cell := decimals(v, places, "–")
			if format != "csv" && i < len(line.Intervals) && line.Intervals[i] != nil {
				cell += " ±" + decimals(100*line.Intervals[i].Half(), places, "–")
			}
			row = append(row, cell)
		}
		c.rows = append(c.rows, row)
	}
	if err := c.write(j.stdout, format); err != nil {
		return err
	}
	for _, p := range t.Pairs {
		j.print("\n")
		if err := p.cells().write(j.stdout, format); err != nil {
			return err
		}
	}
	return nil
}
