package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/internal/settings"
	"hgld/train/history"
	"hgld/train/retrieval"
)

func runsCompareCommand() *cli.Command {
	return &cli.Command{
		Name: "compare", Usage: "results side by side, and the settings that differ", ArgsUsage: "RUN…",
		Description: "  hgld runs compare runs/smooth-ap runs/happier\n" +
			"  hgld runs compare --seeds runs/*        mean ± deviation over runs that differ only in their seeds,\n" +
			"                                          and 95 % intervals of the differences, seed by seed; query by query\n" +
			"                                          too, where hgld eval run --per-query stored the values\n" +
			"  hgld runs compare --seeds --metrics R@1_level0,H-AP --format markdown runs/*",
		Flags: append(commonFlags(),
			&cli.BoolFlag{Name: "seeds",
				Usage: "group runs that differ only in seed and hold_out_seed, and compare the groups by seed"},
			&cli.BoolFlag{Name: "other-data", Usage: "also compare runs that were evaluated on other labels or another gallery"},
			&cli.StringSliceFlag{Name: "metrics", Usage: "rows of the table, as `KEYS` of eval.json (default: all)"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the table: text, markdown or csv"}),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			if len(j.args) == 0 {
				return withHint(usagef("runs compare needs at least one run directory; got none"), "hgld runs list lists them")
			}
			format := c.String("format")
			if !slices.Contains(history.GroupFormats, format) {
				return usagef("--format is %.80q; want text, markdown or csv", format)
			}
			o := runsCompared{keys: settings.Split(c.StringSlice("metrics")), seeds: c.Bool("seeds"),
				otherData: c.Bool("other-data"), format: format}
			return o.compare(j, j.args)
		},
	}
}

// runsCompared says how runs are compared.
type runsCompared struct {
	keys      []string // metrics; empty: all
	seeds     bool     // group runs that differ only in seeds
	otherData bool     // whatever they were evaluated on
	format    string   // one of history.GroupFormats
}

// compare prints the results of runs.
func (o runsCompared) compare(j *job, dirs []string) error {
	runs, err := readPastRuns(dirs)
	if err != nil {
		return err
	}
	keys, err := history.Measured(runs, o.keys)
	if err != nil {
		return withCode(exitUsage, fmt.Errorf("--metrics: %w", err))
	}
	sayMixture(j, runs)
	groups := history.Groups(runs, keys, o.seeds)
	if err := history.SameTasks(groups, o.seeds); err != nil && !o.otherData {
		return otherTasks(err)
	}
	if o.seeds && len(groups) > 0 {
		if err := history.CompareByQuery(groups, keys, retrieval.NewIntervals(retrieval.ByQuery, 1)); err != nil {
			return err
		}
	}
	if j.json {
		return writeJSON(j, groups)
	}
	var text bytes.Buffer
	if err := history.WriteGroups(&text, groups, keys, o.format); err != nil {
		return err
	}
	j.print("%s", text.String())
	return nil
}

// sayMixture warns if the runs were evaluated on different images.
func sayMixture(j *job, runs []*history.Run) {
	for _, r := range runs {
		if a, b := runs[0].Result, r.Result; a != nil && b != nil && a.On != b.On {
			j.say("careful: %s was last evaluated on the %s, but %s on the %s", runs[0].Dir, a.On, r.Dir, b.On)
			return
		}
	}
}
