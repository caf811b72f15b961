package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"hgld/train"
	"hgld/train/history"
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

func runEvalOverall(j *job) error {
	if len(j.args) == 0 {
		return usagef("name the results of `hgld eval run`, such as fine.json middle.json coarse.json")
	}
	var results []*train.Result
	for _, file := range j.args {
		r, err := readResultFile(file)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	table, err := history.Mean(j.args, results)
	if err != nil {
		return withHint(withCode(exitUsage, err), "run `hgld eval run` with the same --metrics for all of them")
	}
	if j.json {
		return writeJSON(j, table)
	}
	printOverall(j, table)
	return nil
}

// readResultFile reads what `hgld eval run` wrote.
func readResultFile(path string) (*train.Result, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, history.EvaluationFile) // of a run
	}
	r, err := history.ReadResult(path)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Version == 0 || len(r.Levels) == 0:
		return nil, usagef("%s is not a result of `hgld eval run`", path)
	case r.Version > train.ResultVersion:
		return nil, fmt.Errorf("%s has format version %d, newer than version %d, which this hgld reads; use a newer hgld",
			path, r.Version, train.ResultVersion)
	}
	return r, nil
}

func printOverall(j *job, table *history.MeanTable) {
	width := len("overall")
	for _, row := range table.Rows {
		width = max(width, len([]rune(row.File+" "+row.Level)))
	}
	line := func(label string, values map[string]train.Number) {
		j.print("%-*s", width, label)
		for _, n := range table.Names {
			v := values[n]
			if !math.IsNaN(float64(v)) {
				v *= 100
			}
			j.print("  %7s", v.Decimals(2, "–"))
		}
		j.print("\n")
	}
	j.print("%-*s", width, "%")
	for _, n := range table.Names {
		j.print("  %7s", n)
	}
	j.print("\n")
	for _, row := range table.Rows {
		line(row.File+" "+row.Level, row.Values)
	}
	line("overall", table.Overall)
}
