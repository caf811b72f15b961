package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/internal/texttable"
	"hgld/train/history"
	"hgld/train/recipe"
	"hgld/train/report"
	"hgld/train/retrieval"
)

func evalCompareCommand() *cli.Command {
	return &cli.Command{
		Name: "compare", Usage: "compare results with each other, or with a row of a paper", ArgsUsage: "FILE...",
		Description: "  hgld eval compare a.json b.json                        every metric of both\n" +
			"  hgld eval compare --resample class a.json b.json       intervals and tests over whole classes\n" +
			"  hgld eval compare --format latex a.json b.json         a table for a paper\n" +
			"  hgld eval compare --report ab.html --images photos a.json b.json\n" +
			"                                                         the queries that changed most, with both rankings\n" +
			"                                                         (a.json and b.json by hgld eval export)\n" +
			"  hgld eval compare --paper sop/happier eval.json        the columns of the recipe's tables\n" +
			"  hgld eval compare --paper sop/happier                  the row of the paper alone",
		Flags: append(commonFlags(), &cli.StringFlag{Name: "paper",
			Usage: "compare with the published rows of `RECIPE` (hgld train recipe list)"},
			&cli.BoolFlag{Name: "other-data",
				Usage: "also show results on data other than the paper's, or with other labels or galleries, untested"},
			&cli.StringFlag{Name: "resample", Value: "query",
				Usage: "`UNIT` to resample for intervals and tests: query, or class with all its queries"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of intervals and tests"},
			&cli.StringFlag{Name: "report", Usage: "HTML page to write of two results: `FILE`"},
			&cli.StringFlag{Name: "by", Usage: "with --report: `METRIC` by which queries are compared, such as AP_level0; empty: H-AP"},
			&cli.StringFlag{Name: "images", Usage: "with --report: folder, archive or shards with the images: `PATH`"},
			&cli.IntFlag{Name: "places", Value: 10, Usage: "with --images: `N` exported items shown of each ranking"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the tables: text, markdown, latex or csv"},
			replaceFlag()),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			o := compareOptions{paper: c.String("paper"), otherData: c.Bool("other-data"),
				resample: c.String("resample"), seed: c.Uint64("seed"), format: c.String("format"),
				page: c.String("report"), by: c.String("by"), images: c.String("images"), places: c.Int("places")}
			return runEvalCompare(j, o)
		},
	}
}

// compareOptions are the flags of the command.
type compareOptions struct {
	paper     string
	otherData bool
	resample  string
	seed      uint64
	format    string

	page, by, images string // for the report
	places           int    // see page
}

func (o compareOptions) check(files int) error {
	if files == 0 && o.paper == "" {
		return usagef("nothing to compare: name results of `hgld eval run`, or a recipe with --paper")
	}
	switch {
	case o.page == "" && (o.by != "" || o.images != ""):
		return usagef("--by and --images apply to the page of --report, which is not given")
	case o.page != "" && (files != 2 || o.paper != ""):
		return usagef("--report compares two results; got %d", files)
	}
	if o.places < 1 || o.places > 1000 {
		return usagef("--places is %d; want 1 to 1000", o.places)
	}
	if _, err := retrieval.Units.Get("resample", o.resample); err != nil {
		return usagef("--resample is %.80q, want query or class", o.resample)
	}
	if err := texttable.CheckFormat(o.format); err != nil {
		return withCode(exitUsage, fmt.Errorf("--format: %w", err))
	}
	return nil
}

// pairs compares the results query by query. If a result lacks per-query values, it tells
// the user and returns nil.
func (o compareOptions) pairs(j *job, files []string, results []*retrieval.Result) ([]history.Pair, error) {
	pairs, err := history.Pairs(files, results, retrieval.NewIntervals(retrieval.Unit(o.resample), o.seed))
	if errors.As(err, new(retrieval.NoPerQueryError)) {
		j.say("the differences are not tested, because not all files have per-query values: " +
			"hgld eval run --per-query stores them")
		return nil, nil
	}
	return pairs, withCode(exitUsage, err)
}

func runEvalCompare(j *job, o compareOptions) error {
	if err := o.check(len(j.args)); err != nil {
		return err
	}
	if err := j.checkOutputs("eval compare", j.args, pipeline.Output{Path: o.page, Kind: kindPage}); err != nil {
		return err
	}
	var results []*retrieval.Result
	for _, path := range j.args {
		r, err := readResultFile(path)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	files := history.ShortNames(j.args)
	var tables []history.Compared
	var page error
	if o.paper == "" {
		t := history.Compared{Comparison: history.Compare(files, results)}
		err := history.Alike(files, results)
		switch {
		case err == nil:
			t.Pairs, err = o.pairs(j, files, results)
		case o.otherData && o.page == "":
			j.say("careful: the differences are not tested: %v", err)
			err = nil
		default:
			err = otherTasks(err)
		}
		if err != nil {
			return err
		}
		tables = []history.Compared{t}
		if o.page != "" {
			if page = o.report(j, files, results, t.Pairs); page != nil && !isUnshown(page) {
				return page
			}
		}
	} else {
		r, err := recipe.Get(o.paper)
		if err != nil {
			return withCode(exitUsage, err)
		}
		if err := fitsPaper(j, &r, results, o.otherData); err != nil {
			return err
		}
		list, err := recipe.ComparePaper(r, files, results)
		if err != nil {
			return withCode(exitUsage, err)
		}
		for _, t := range list {
			tables = append(tables, history.Compared{Comparison: t})
		}
	}
	if j.json {
		return errors.Join(writeJSON(j, tables), page)
	}
	for i, t := range tables {
		if i > 0 {
			j.print("\n")
		}
		if err := t.Write(asTable(j.stdout, o.format), o.format); err != nil {
			return err
		}
	}
	return page
}

// otherTasks gives the error for results of different tasks its exit code and hint.
func otherTasks(err error) error {
	return withHint(withCode(exitUsage, err), "--other-data shows them side by side all the same, untested")
}

// report writes the page of two results.
func (o compareOptions) report(j *job, files []string, results []*retrieval.Result, pairs []history.Pair) error {
	if len(pairs) == 0 {
		return withHint(usagef("--report needs results with per-query values"),
			"hgld eval export and hgld eval run --per-query store them")
	}
	v := report.Versus{Path: o.page, Key: o.by, Places: o.places, Pairing: pairs[0].Pairing}
	for i := range v.Results {
		v.Names[i], v.Results[i] = files[i], results[i]
		var err error
		if v.Found[i], err = report.ReadExport(j.args[i], results[i].Queries); err != nil {
			return withCode(exitIntegrity, err)
		}
	}
	if o.images != "" {
		d, closer, err := openItems(&job{ctx: j.ctx, quiet: true}, o.images, "", vectorLabels{})
		if err != nil {
			return err
		}
		defer closer.Close()
		v.Image = report.ImagesByID(d)
		if v.Found[0] == nil || v.Found[1] == nil {
			j.say("the page has no pictures: %s and %s were not both written by hgld eval export", j.args[0], j.args[1])
		}
	}
	return pageError(v.Write(j.ctx))
}

// fitsPaper returns an error for a result whose levels or number of queries differ from
// the recipe's data. With otherData it only reports the difference.
func fitsPaper(j *job, r *recipe.Recipe, results []*retrieval.Result, otherData bool) error {
	for i, result := range results {
		if r.Fits(result) {
			continue
		}
		queries := ""
		if r.Queries > 0 {
			queries = fmt.Sprintf(" and %d queries", r.Queries)
		}
		err := usagef("%s was measured on %d queries with %d levels (%s), but the data of %s has %d levels%s: %s",
			j.args[i], result.Queries, len(result.Levels), strings.Join(result.Levels, ", "), r.Name, len(r.Classes), queries,
			r.Data)
		if !otherData {
			return withHint(err, "name a result on that data; --other-data shows this one anyway")
		}
		j.say("%v", err)
	}
	return nil
}
