package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/internal/settings"
	"hgld/train/history"
)

func runsCompareCommand() *cli.Command {
	return &cli.Command{
		Name: "compare", Usage: "results side by side, and the settings that differ", ArgsUsage: "RUN…",
		Description: "  hgld runs compare runs/smooth-ap runs/happier\n" +
			"  hgld runs compare --seeds runs/*        mean ± deviation over runs that differ only in their seeds,\n" +
			"                                          and 95 % intervals of the differences, seed by seed\n" +
			"  hgld runs compare --seeds --metrics R@1_level0,H-AP --format markdown runs/*",
		Flags: append(commonFlags(),
			&cli.BoolFlag{Name: "seeds",
				Usage: "group runs that differ only in seed and hold_out_seed, and compare the groups by seed"},
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
			return compareRuns(j, j.args, settings.Split(c.StringSlice("metrics")), c.Bool("seeds"), format)
		},
	}
}

// compareRuns prints the results of runs in one of history.GroupFormats. It prints the
// metrics named by keys, or all if keys is empty.
func compareRuns(j *job, dirs, keys []string, seeds bool, format string) error {
	runs, err := readPastRuns(dirs)
	if err != nil {
		return err
	}
	if keys, err = history.Measured(runs, keys); err != nil {
		return withCode(exitUsage, fmt.Errorf("--metrics: %w", err))
	}
	sayMixture(j, runs)
	groups := history.Groups(runs, keys, seeds)
	if j.json {
		return writeJSON(j, groups)
	}
	var text bytes.Buffer
	if err := history.WriteGroups(&text, groups, keys, format); err != nil {
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
