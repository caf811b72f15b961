package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/train"
	"hgld/train/history"
	"hgld/train/metric"
)

func evalOverallCommand() *cli.Command {
	return &cli.Command{
		Name: "overall", Usage: "the mean of several evaluations: the overall accuracy of DyML", ArgsUsage: "FILE...",
		Description: "  hgld eval overall fine.json middle.json coarse.json     three benchmarks of one level each",
		Flags:       commonFlags(),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			return runEvalOverall(j)
		},
	}
}

// overallTable is what `hgld eval overall --json` prints: the value of each metric
// in each level of each file, and their unweighted means.
type overallTable struct {
	Rows    []overallRow            `json:"rows"`
	Overall map[string]train.Number `json:"overall"`
}

type overallRow struct {
	File   string                  `json:"file"`
	Level  string                  `json:"level"`
	Values map[string]train.Number `json:"values"`
}

func runEvalOverall(j *job) error {
	if len(j.args) == 0 {
		return usagef("name the results of `hgld eval run`, such as fine.json middle.json coarse.json")
	}
	table := overallTable{Overall: map[string]train.Number{}}
	var names, keys []string // metrics, and keys of all rows
	var means []float64
	for _, file := range j.args {
		r, err := readResultFile(file)
		if err != nil {
			return err
		}
		for level, name := range r.Levels {
			row := overallRow{filepath.Base(file), name, map[string]train.Number{}}
			suffix := fmt.Sprintf("_level%d", level)
			for _, v := range r.Values {
				if metricName, ok := strings.CutSuffix(v.Key, suffix); ok {
					row.Values[metricName] = v.Mean
					keys, means = append(keys, v.Key), append(means, float64(v.Mean))
					if len(table.Rows) == 0 {
						names = append(names, metricName)
					}
				}
			}
			for _, n := range names {
				if _, ok := row.Values[n]; !ok || len(row.Values) != len(names) {
					return withHint(usagef("%s has other metrics than %s, which has %s", file, j.args[0], strings.Join(names, ", ")),
						"run `hgld eval run` with the same --metrics for all of them")
				}
			}
			table.Rows = append(table.Rows, row)
		}
	}
	for name, mean := range metric.Overall(keys, means) {
		table.Overall[name] = train.Number(mean)
	}
	if j.json {
		return writeJSON(j, table)
	}
	printOverall(j, table, names)
	return nil
}

// readResultFile reads what `hgld eval run` wrote.
func readResultFile(path string) (*train.Result, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, evaluationFile) // of a run
	}
	r, err := history.ReadResult(path)
	if err != nil {
		return nil, historyError(err)
	}
	switch {
	case r.Version == 0 || len(r.Levels) == 0:
		return nil, usagef("%s is no result of `hgld eval run`", path)
	case r.Version > train.ResultVersion:
		return nil, fmt.Errorf("%s has format version %d, newer than version %d, which this hgld reads; use a newer hgld",
			path, r.Version, train.ResultVersion)
	}
	return r, nil
}

func printOverall(j *job, table overallTable, names []string) {
	width := len("overall")
	for _, row := range table.Rows {
		width = max(width, len([]rune(row.File+" "+row.Level)))
	}
	line := func(label string, values map[string]train.Number) {
		j.print("%-*s", width, label)
		for _, n := range names {
			v := values[n]
			if !math.IsNaN(float64(v)) {
				v *= 100
			}
			j.print("  %7s", v.Decimals(2, "–"))
		}
		j.print("\n")
	}
	j.print("%-*s", width, "%")
	for _, n := range names {
		j.print("  %7s", n)
	}
	j.print("\n")
	for _, row := range table.Rows {
		line(row.File+" "+row.Level, row.Values)
	}
	line("overall", table.Overall)
}
