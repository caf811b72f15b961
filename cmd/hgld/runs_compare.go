package main

import (
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/settings"
	"hgld/train/history"
)

func runsCompareCommand() *cli.Command {
	return &cli.Command{
		Name: "compare", Usage: "results side by side, and the settings that differ", ArgsUsage: "RUN…",
		Description: "  hgld runs compare runs/smooth-ap runs/happier\n" +
			"  hgld runs compare --seeds runs/*        mean ± deviation over runs that differ in their seeds alone,\n" +
			"                                          and 95 % intervals of the differences, seed by seed\n" +
			"  hgld runs compare --seeds --metrics R@1_level0,H-AP --format markdown runs/*",
		Flags: append(commonFlags(),
			&cli.BoolFlag{Name: "seeds",
				Usage: "group runs that differ only in seed and hold_out_seed, and compare the groups seed by seed"},
			&cli.StringSliceFlag{Name: "metrics", Usage: "rows of the table, as `KEYS` of eval.json (default: all)"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT` of the table: text, markdown or csv"}),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			if len(j.args) == 0 {
				return withHint(usagef("runs compare takes run directories, got none"), "hgld runs list lists them")
			}
			write, known := groupWriters[c.String("format")]
			if !known {
				return usagef("--format is %.80q, want text, markdown or csv", c.String("format"))
			}
			return compareRuns(j, j.args, settings.Split(c.StringSlice("metrics")), c.Bool("seeds"), write)
		},
	}
}

// groupWriter prints the table of groups of runs.
type groupWriter func(j *job, groups []*history.Group, keys []string) error

// compareRuns prints the results of runs. Without keys, it prints all metrics.
func compareRuns(j *job, dirs, keys []string, seeds bool, write groupWriter) error {
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
	return write(j, groups, keys)
}

// sayMixture warns if the results are of different images.
func sayMixture(j *job, runs []*history.Run) {
	for _, r := range runs {
		if a, b := runs[0].Result, r.Result; a != nil && b != nil && a.On != b.On {
			j.say("careful: the last evaluation of %s is on the %s, but that of %s on the %s", runs[0].Dir, a.On, r.Dir, b.On)
			return
		}
	}
}

// sampleText formats a mean, and its deviation if there are several values.
func sampleText(m history.Sample) string {
	s := m.Mean.Decimals(2, "–")
	if m.Count > 1 {
		s += " ± " + m.Deviation.Decimals(2, "–")
	}
	return s
}

// groupWriters holds the function that prints the table in each format.
var groupWriters = map[string]groupWriter{
	"text": writeGroupsText, "markdown": writeGroupsMarkdown, "csv": writeGroupsCSV,
}

func writeGroupsText(j *job, groups []*history.Group, keys []string) error {
	first := len("metric (%)")
	for _, k := range keys {
		first = max(first, len(k))
	}
	width := make([]int, len(groups))
	j.print("%-*s", first, "metric (%)")
	for i, g := range groups {
		width[i] = max(len(g.Name), len("00.00 ± 0.00"))
		j.print("  %*s", width[i], g.Name)
	}
	j.print("\n")
	for _, k := range keys {
		j.print("%-*s", first, k)
		for i, g := range groups {
			j.print("  %*s", width[i], sampleText(g.Metrics[k]))
		}
		if m := groups[0].Metrics[k]; len(groups) == 1 && m.Count > 1 {
			j.print("  [%.2f, %.2f]", float64(m.Low), float64(m.High))
		}
		j.print("\n")
	}
	if len(groups) == 1 && len(groups[0].Members) > 1 {
		j.print("\nmean ± deviation over %d runs, and Student's 95 %% interval of the mean\n", len(groups[0].Members))
	}
	if err := writeDifferences(j, groups, keys, "text"); err != nil {
		return err
	}
	for _, g := range groups[1:] {
		j.print("\n%s\n", g.Name)
		for _, d := range history.Changes(groups[0].Members[0].Settings, g.Members[0].Settings) {
			j.print("  %s is %s, in %s %s\n", d.Key, d.To, groups[0].Name, d.From)
		}
	}
	return nil
}

func writeGroupsMarkdown(j *job, groups []*history.Group, keys []string) error {
	j.print("| run | n | %s |\n|---|---|%s\n", strings.Join(keys, " | "), strings.Repeat("---|", len(keys)))
	for _, g := range groups {
		cells := []string{g.Name, strconv.Itoa(len(g.Members))}
		for _, k := range keys {
			cells = append(cells, sampleText(g.Metrics[k]))
		}
		j.print("| %s |\n", strings.Join(cells, " | "))
	}
	return writeDifferences(j, groups, keys, "markdown")
}

// writeGroupsCSV writes one line for each group and metric, so that a script finds
// them by name. The columns from difference on are of --seeds: see history.SeedDifference.
func writeGroupsCSV(j *job, groups []*history.Group, keys []string) error {
	w := csv.NewWriter(j.stdout)
	if err := w.Write([]string{"run", "metric", "mean", "deviation", "count",
		"difference", "low", "high", "p", "pairs", "verdict"}); err != nil {
		return err
	}
	for _, g := range groups {
		for _, k := range keys {
			m := g.Metrics[k]
			row := []string{g.Name, k, m.Mean.Decimals(4, ""), m.Deviation.Decimals(4, ""), fmt.Sprint(m.Count)}
			if err := w.Write(append(row, g.Differences[k].Fields()...)); err != nil {
				return err
			}
		}
	}
	w.Flush()
	return w.Error()
}

// writeDifferences writes a table for each group that was compared with the first.
func writeDifferences(j *job, groups []*history.Group, keys []string, format string) error {
	for _, g := range groups[1:] {
		if g.Differences == nil {
			continue
		}
		j.print("\n")
		if err := history.SeedTable(g.Name, groups[0].Name, keys, g.Differences).Write(j.stdout, format); err != nil {
			return err
		}
	}
	return nil
}
