package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"hgld/train/history"
	"hgld/train/retrieval"
)

func evalOverallCommand() *cli.Command {
	return &cli.Command{
		Name: "overall", Usage: "the mean of several evaluations: the overall accuracy of DyML", ArgsUsage: "FILE...",
		Description: "  hgld eval overall fine.json middle.json coarse.json     three benchmarks with one level each",
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
	var results []*retrieval.Result
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
	return j.show(table, table.Text())
}

// readResultFile reads what `hgld eval run` wrote.
func readResultFile(path string) (*retrieval.Result, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, history.EvaluationFile) // written by a run
	}
	r, err := history.ReadResult(path)
	if errors.As(err, new(*history.FormatError)) {
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
