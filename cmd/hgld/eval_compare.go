package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/internal/settings"
	"hgld/internal/texttable"
	"hgld/train/experiment/outputs"
	"hgld/train/experiment/plan"
	"hgld/train/experiment/report"
	"hgld/train/experiment/runs"
	"hgld/train/retrieval"
)

func evalCompareCommand() *cli.Command {
	return &cli.Command{
		Name: "compare", Usage: "compare results or runs with each other, or with a paper", ArgsUsage: "FILE|RUN…",
		Description: "  hgld eval compare a.json b.json                        every metric of both, with tests by query\n" +
			"  hgld eval compare --resample class a.json b.json       intervals and tests over whole classes\n" +
			"  hgld eval compare --format latex a.json b.json         a table for a paper\n" +
			"  hgld eval compare --report ab.html --images photos a.json b.json\n" +
			"                                                         the queries that changed most, with both rankings\n" +
			"                                                         (a.json and b.json by hgld eval run --export)\n" +
			"  hgld eval compare --paper sop/happier eval.json        the columns of the recipe's tables\n" +
			"  hgld eval compare --paper sop/happier                  only the row of the paper\n" +
			"  hgld eval compare --mean fine.json middle.json         the overall accuracy of DyML\n" +
			"  hgld eval compare runs/smooth-ap runs/happier          results of runs, and the settings that differ\n" +
			"  hgld eval compare --seeds runs/*                       mean ± deviation of runs that differ only in seeds,\n" +
			"                                                         and 95 % intervals of the differences by seed; also by\n" +
			"                                                         query, where hgld eval run --per-query stored the values",
		Flags: append(commonFlags(), &cli.StringFlag{Name: "paper",
			Usage: "compare with the published rows of `RECIPE` (hgld train recipes)"},
			&cli.BoolFlag{Name: "mean", Usage: "print the metrics of each level of each result, and their means"},
			&cli.BoolFlag{Name: "seeds",
				Usage: "group runs that differ only in seed and hold_out_seed, and compare the groups by seed"},
			&cli.StringSliceFlag{Name: "metrics",
				Usage: "`METRICS` to compare, as keys of the results (default: all); with --report the first one orders the queries " +
					"(default: H-AP)"},
			&cli.BoolFlag{Name: "other-data",
				Usage: "also show results on data other than the paper's, or with other labels or galleries, untested"},
			&cli.StringFlag{Name: "resample", Value: "query",
				Usage: "`UNIT` to resample for intervals and tests: query, or class with all its queries"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of intervals and tests"},
			&cli.StringFlag{Name: "report", Usage: "HTML page to write of two results: `FILE`"},
			&cli.StringFlag{Name: "images", Usage: "with --report: folder, archive or shards with the images: `PATH`"},
			&cli.IntFlag{Name: "top-k", Value: 10, Usage: "with --images: `N` exported items shown of each ranking"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the tables: text, markdown, latex or csv"},
			replaceFlag()),
		Action: action(func(c *cli.Context, j *job) error {
			o := compareOptions{paper: c.String("paper"), otherData: c.Bool("other-data"), mean: c.Bool("mean"),
				seeds: c.Bool("seeds"), resample: c.String("resample"), seed: c.Uint64("seed"), format: c.String("format"),
				page: c.String("report"), images: c.String("images"), topK: c.Int("top-k")}
			if c.IsSet("metrics") {
				o.keys = settings.Split(c.StringSlice("metrics"))
			}
			return o.compare(j)
		}),
	}
}

// compareOptions are the flags of the command.
type compareOptions struct {
	paper     string
	otherData bool
	mean      bool
	seeds     bool     // group runs that differ only in seeds
	keys      []string // metrics; empty: all
	resample  string
	seed      uint64
	format    string

	page, images string // for the report
	topK         int    // see page
}

func (o compareOptions) check(files int) error {
	if files == 0 && o.paper == "" {
		return usagef("nothing to compare: name results of `hgld eval run`, or a recipe with --paper")
	}
	switch {
	case o.page == "" && o.images != "":
		return usagef("--images applies to the page of --report, which is not given")
	case o.mean && (o.page != "" || o.paper != "" || o.seeds || len(o.keys) > 0):
		return usagef("--mean cannot be combined with --report, --paper, --seeds or --metrics")
	case o.page != "" && (files != 2 || o.paper != ""):
		return usagef("--report compares two results; got %d", files)
	}
	if o.topK < 1 || o.topK > 1000 {
		return usagef("--top-k is %d; want 1 to 1000", o.topK)
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
func (o compareOptions) pairs(j *job, files []string, results []*retrieval.Result) ([]report.Pair, error) {
	pairs, err := report.Pairs(files, results, retrieval.NewIntervals(retrieval.Unit(o.resample), o.seed))
	if errors.As(err, new(retrieval.NoPerQueryError)) {
		j.log("the differences are not tested, because not all files have per-query values: " +
			"hgld eval run --per-query stores them")
		return nil, nil
	}
	return pairs, withCode(exitUsage, err)
}

// compare prints what the arguments have in common, and how they differ.
func (o compareOptions) compare(j *job) error {
	if err := o.check(len(j.args)); err != nil {
		return err
	}
	if ofRuns := o.paper == "" && o.page == "" && !o.mean && !slices.ContainsFunc(j.args, isNoRun); ofRuns || o.seeds {
		return o.compareRuns(j)
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
	if o.mean {
		table, err := report.Mean(j.args, results)
		if err != nil {
			return withHint(withCode(exitUsage, err), "run `hgld eval run` with the same --metrics for all of them")
		}
		return j.show(table, table.Text())
	}
	tables, page, err := o.tables(j, report.ShortNames(j.args), results)
	if err != nil {
		return err
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

// tables compares results with each other, or with the paper, and writes the page. The error unwritten says that the
// page lacks images.
func (o compareOptions) tables(j *job, files []string, results []*retrieval.Result) (
	tables []report.Compared, unwritten, err error) {
	if o.paper != "" {
		r, err := plan.GetRecipe(o.paper)
		if err != nil {
			return nil, nil, withCode(exitUsage, err)
		}
		if err := fitsPaper(j, &r, results, o.otherData); err != nil {
			return nil, nil, err
		}
		list, err := report.ComparePaper(r, files, results)
		for _, t := range list {
			tables = append(tables, report.Compared{Comparison: t})
		}
		return tables, nil, withCode(exitUsage, err)
	}
	t := report.Compared{Comparison: report.Compare(files, results)}
	switch err = report.Alike(files, results); {
	case err == nil:
		t.Pairs, err = o.pairs(j, files, results)
	case o.otherData && o.page == "":
		j.log("warning: the differences are not tested: %v", err)
		err = nil
	default:
		err = otherTasks(err)
	}
	if err == nil && o.page != "" {
		if unwritten = o.report(j, files, results, t.Pairs); !isUnshown(unwritten) {
			err, unwritten = unwritten, nil
		}
	}
	if err == nil && len(o.keys) > 0 {
		err = withCode(exitUsage, t.Only(o.keys))
	}
	return []report.Compared{t}, unwritten, err
}

// otherTasks gives the error for results of different tasks its exit code and hint.
func otherTasks(err error) error {
	return withHint(withCode(exitUsage, err), "pass --other-data to show them side by side, untested")
}

// report writes the page of two results.
func (o compareOptions) report(j *job, files []string, results []*retrieval.Result, pairs []report.Pair) error {
	if len(pairs) == 0 {
		return withHint(usagef("--report needs results with per-query values"),
			"hgld eval run --export or --per-query stores them")
	}
	v := outputs.Versus{Path: o.page, Places: o.topK, Pairing: pairs[0].Pairing}
	if len(o.keys) > 0 {
		v.Key = o.keys[0]
	}
	for i := range v.Results {
		v.Names[i], v.Results[i] = files[i], results[i]
		var err error
		if v.Found[i], err = outputs.ReadExport(j.args[i], results[i].Queries); err != nil {
			return withCode(exitIntegrity, err)
		}
	}
	if o.images != "" {
		d, closer, err := openItems(&job{ctx: j.ctx, quiet: true}, o.images, "", vectorLabels{})
		if err != nil {
			return err
		}
		defer closer.Close()
		v.Image = outputs.ImagesByID(d)
		if v.Found[0] == nil || v.Found[1] == nil {
			j.log("the page has no pictures: %s and %s were not both written by hgld eval run --export", j.args[0], j.args[1])
		}
	}
	return pageError(v.Write(j.ctx))
}

// fitsPaper returns an error for a result whose levels or number of queries differ from
// the recipe's data. With otherData it only reports the difference.
func fitsPaper(j *job, r *plan.Recipe, results []*retrieval.Result, otherData bool) error {
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
		j.log("%v", err)
	}
	return nil
}

// isNoRun reports whether a path is not a run directory.
func isNoRun(path string) bool {
	_, err := os.Stat(filepath.Join(path, runs.SettingsFile))
	return err != nil
}

// compareRuns prints the results of runs, and the settings that differ.
func (o compareOptions) compareRuns(j *job) error {
	if !slices.Contains(report.GroupFormats, o.format) {
		return usagef("--format is %.80q; of runs want text, markdown or csv", o.format)
	}
	list, err := readPastRuns(j.args)
	if err != nil {
		return err
	}
	keys, err := report.Measured(list, o.keys)
	if err != nil {
		return withCode(exitUsage, fmt.Errorf("--metrics: %w", err))
	}
	sayMixture(j, list)
	groups := report.Groups(list, keys, o.seeds)
	if err := report.SameTasks(groups, o.seeds); err != nil && !o.otherData {
		return otherTasks(err)
	}
	if o.seeds && len(groups) > 0 {
		if err := report.CompareByQuery(groups, keys, retrieval.NewIntervals(retrieval.ByQuery, 1)); err != nil {
			return err
		}
	}
	if j.json {
		return writeJSON(j, groups)
	}
	var text bytes.Buffer
	if err := report.WriteGroups(&text, groups, keys, o.format); err != nil {
		return err
	}
	j.print("%s", text.String())
	return o.testRuns(j, list)
}

// testRuns prints the tests of the differences between runs, query by query, if their results have the values.
func (o compareOptions) testRuns(j *job, list []*runs.Run) error {
	var names []string
	var results []*retrieval.Result
	for _, r := range list {
		if r.Result == nil || r.Result.PerQuery == nil {
			return nil
		}
		names, results = append(names, filepath.Base(r.Dir)), append(results, r.Result)
	}
	if o.seeds || o.format == "csv" || len(list) < 2 || report.Alike(names, results) != nil {
		return nil
	}
	tested := report.Compared{}
	var err error
	if tested.Pairs, err = o.pairs(j, names, results); err == nil && len(o.keys) > 0 {
		tested.Comparison = report.Compare(names, results)
		err = tested.Only(o.keys)
	}
	for _, p := range tested.Pairs {
		j.print("\n")
		err = errors.Join(err, p.Table().Write(asTable(j.stdout, o.format), o.format))
	}
	return err
}

// sayMixture warns if the runs were evaluated on different images.
func sayMixture(j *job, runs []*runs.Run) {
	for _, r := range runs {
		if a, b := runs[0].Result, r.Result; a != nil && b != nil && a.On != b.On {
			j.log("warning: %s was last evaluated on the %s, but %s on the %s", runs[0].Dir, a.On, r.Dir, b.On)
			return
		}
	}
}

// readResultFile reads what `hgld eval run` wrote.
func readResultFile(path string) (*retrieval.Result, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, runs.EvaluationFile) // written by a run
	}
	r, err := runs.ReadResult(path)
	if errors.As(err, new(*runs.FormatError)) {
		return nil, withHint(err, "want a result of hgld eval run, in JSON: its --out names the file")
	}
	if err != nil {
		return nil, err
	}
	if r.Version == 0 || len(r.Levels) == 0 {
		return nil, usagef("%s is not a result of `hgld eval run`", path)
	}
	return r, nil
}
