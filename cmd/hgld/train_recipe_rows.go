package main

import (
	"errors"
	"io/fs"
	"math"
	"path/filepath"

	"hgld/train"
	"hgld/train/history"
	"hgld/train/recipe"
)

// testOf reads the test result of a run.
func testOf(run string) (*train.Result, error) {
	result, err := readEvaluation(run)
	if err == nil && result.On == "validation" {
		err = withHint(usagef("%s of %s is of the validation classes, but the paper's numbers are of the test",
			history.EvaluationFile, run),
			"the test is measured when the run is complete, if train.query names it; hgld eval run measures it now")
	}
	return result, err
}

// readEvaluation reads the last evaluation of a run.
func readEvaluation(run string) (*train.Result, error) {
	path := filepath.Join(run, history.EvaluationFile)
	r, err := history.ReadResult(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(usagef("%s has no %s: nothing was evaluated there", run, history.EvaluationFile),
			"hgld train run evaluates when it ends, if it knows the queries")
	}
	return r, err
}

// printPublished prints the rows of the paper beside the result of a run.
func printPublished(j *job, rows []recipe.ComparedRow) {
	for _, row := range rows {
		j.print("\n%s, table %s, %s on %s (quoted, %%)\n", row.Paper, row.Table, row.Method, row.Part)
		run := false
		for _, n := range row.Numbers {
			run = run || !math.IsNaN(float64(n.Run))
		}
		j.print("%-16s %8s", "metric", "paper")
		if run {
			j.print(" %8s %8s", "run", "run−paper")
		}
		j.print("\n")
		for _, n := range row.Numbers {
			j.print("%-16s %8s", n.Key, n.Paper.Decimals(1, "–"))
			if run {
				j.print(" %8s %9s", n.Run.Decimals(1, "–"), (n.Run-n.Paper).Decimals(1, "–"))
			}
			j.print("\n")
		}
	}
}
