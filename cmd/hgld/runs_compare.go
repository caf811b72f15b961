package main

import (
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/train"
	"hgld/train/history"
)

// runGroup is a group of runs that differ only in their seeds, or a single run.
type runGroup struct {
	Name    string                    `json:"name"`
	Runs    []string                  `json:"runs"`
	Metrics map[string]history.Sample `json:"metrics"`

	// Differences are those from the first group, run by run with the same seeds; the
	// first group has none.
	Differences map[string]history.SeedDifference `json:"differences,omitempty"`

	runs []*pastRun
}

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
			runs, err := readPastRuns(j.args)
			if err != nil {
				return err
			}
			groups := groupRuns(runs, c.Bool("seeds"))
			keys := listOf(c, "metrics")
			all := history.Keys(resultsOf(runs))
			for _, key := range keys {
				if !slices.Contains(all, key) {
					return withCode(exitUsage, fmt.Errorf("--metrics: %w", registry.Unknown("metric", key, all)))
				}
			}
			if len(keys) == 0 {
				keys = all
			}
			sayMixture(j, runs)
			for _, g := range groups {
				g.measure(keys)
			}
			if c.Bool("seeds") {
				subtractFirst(groups, keys)
			}
			if j.json {
				return writeJSON(j, groups)
			}
			return write(j, groups, keys)
		},
	}
}

// groupRuns groups runs by their settings. Without seeds, each run is its own group.
func groupRuns(runs []*pastRun, seeds bool) []*runGroup {
	var groups []*runGroup
	for _, r := range runs {
		at := -1
		if seeds {
			at = slices.IndexFunc(groups, func(g *runGroup) bool { return len(otherSettings(g.runs[0], r, true)) == 0 })
		}
		if at < 0 {
			groups = append(groups, &runGroup{Name: filepath.Base(r.Dir), Metrics: map[string]history.Sample{}})
			at = len(groups) - 1
		}
		groups[at].runs = append(groups[at].runs, r)
		groups[at].Runs = append(groups[at].Runs, r.Dir)
	}
	for _, g := range groups {
		if len(g.runs) > 1 {
			g.Name = history.CommonName(g.Runs)
		}
	}
	return groups
}

// sayMixture warns if the results are of different images.
func sayMixture(j *job, runs []*pastRun) {
	for _, r := range runs {
		if a, b := runs[0].Result, r.Result; a != nil && b != nil && a.On != b.On {
			j.say("careful: the last evaluation of %s is of the %s, that of %s of the %s", runs[0].Dir, a.On, r.Dir, b.On)
			return
		}
	}
}

// otherSettings lists the settings in which two runs differ: key, first, second.
func otherSettings(a, b *pastRun, butSeeds bool) [][3]string {
	var list [][3]string
	second := settings.Fields(b.Settings)
	for i, f := range settings.Fields(a.Settings) {
		key := f.Key()
		if key == "out" || f.Path[0] == "run" || butSeeds && (key == "seed" || key == "hold_out_seed") {
			continue
		}
		if was, now := settings.Text(f.Value), settings.Text(second[i].Value); was != now {
			list = append(list, [3]string{key, was, now})
		}
	}
	return list
}

// resultsOf returns the last evaluations of runs, nil for a run without one.
func resultsOf(runs []*pastRun) (list []*train.Result) {
	for _, r := range runs {
		list = append(list, r.Result)
	}
	return list
}

// measure fills the metrics of a group.
func (g *runGroup) measure(keys []string) {
	for _, key := range keys {
		var values []train.Number
		for _, r := range g.runs {
			values = append(values, r.percentOf(key))
		}
		g.Metrics[key] = history.SampleOf(values)
	}
}

// sampleText formats a mean, and its deviation if there are several values.
func sampleText(m history.Sample) string {
	s := decimals(m.Mean, 2, "–")
	if m.Count > 1 {
		s += " ± " + decimals(m.Deviation, 2, "–")
	}
	return s
}

// groupWriters holds the function that prints the table in each format.
var groupWriters = map[string]func(j *job, groups []*runGroup, keys []string) error{
	"text": writeGroupsText, "markdown": writeGroupsMarkdown, "csv": writeGroupsCSV,
}

func writeGroupsText(j *job, groups []*runGroup, keys []string) error {
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
		j.print("\n")
	}
	if len(groups) == 1 && len(groups[0].runs) > 1 {
		j.print("\nmean ± deviation over %d runs\n", len(groups[0].runs))
	}
	if err := writeDifferences(j, groups, keys, "text"); err != nil {
		return err
	}
	for _, g := range groups[1:] {
		j.print("\n%s\n", g.Name)
		for _, d := range otherSettings(groups[0].runs[0], g.runs[0], false) {
			j.print("  %s is %s, in %s %s\n", d[0], d[2], groups[0].Name, d[1])
		}
	}
	return nil
}

func writeGroupsMarkdown(j *job, groups []*runGroup, keys []string) error {
	j.print("| run | n | %s |\n|---|---|%s\n", strings.Join(keys, " | "), strings.Repeat("---|", len(keys)))
	for _, g := range groups {
		cells := []string{g.Name, strconv.Itoa(len(g.runs))}
		for _, k := range keys {
			cells = append(cells, sampleText(g.Metrics[k]))
		}
		j.print("| %s |\n", strings.Join(cells, " | "))
	}
	return writeDifferences(j, groups, keys, "markdown")
}

// writeGroupsCSV writes one line for each group and metric, so that a script finds
// them by name. The columns from difference on are of --seeds: see history.SeedDifference.
func writeGroupsCSV(j *job, groups []*runGroup, keys []string) error {
	w := csv.NewWriter(j.stdout)
	if err := w.Write([]string{"run", "metric", "mean", "deviation", "count",
		"difference", "low", "high", "p", "pairs", "verdict"}); err != nil {
		return err
	}
	for _, g := range groups {
		for _, k := range keys {
			m := g.Metrics[k]
			row := []string{g.Name, k, decimals(m.Mean, 4, ""), decimals(m.Deviation, 4, ""), fmt.Sprint(m.Count)}
			if err := w.Write(append(row, g.Differences[k].Fields()...)); err != nil {
				return err
			}
		}
	}
	w.Flush()
	return w.Error()
}

// seeds is what the runs of two groups are paired by.
func (r *pastRun) seeds() (seeds [2]string) {
	for _, f := range settings.Fields(r.Settings) {
		if i := slices.Index([]string{"seed", "hold_out_seed"}, f.Key()); i >= 0 {
			seeds[i] = settings.Text(f.Value)
		}
	}
	return seeds
}

// subtractFirst compares every other group with the first.
func subtractFirst(groups []*runGroup, keys []string) {
	bySeeds := func(g *runGroup, key string) map[[2]string]train.Number {
		values := map[[2]string]train.Number{}
		for _, r := range g.runs {
			values[r.seeds()] = r.percentOf(key)
		}
		return values
	}
	for _, g := range groups[1:] {
		g.Differences = map[string]history.SeedDifference{}
		for _, key := range keys {
			g.Differences[key] = history.Subtract(bySeeds(g, key), bySeeds(groups[0], key))
		}
	}
}

// writeDifferences writes a table for each group that was compared with the first.
func writeDifferences(j *job, groups []*runGroup, keys []string, format string) error {
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
