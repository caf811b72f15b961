package main

import (
	"errors"
	"io/fs"
	"path/filepath"

	"hgld/train"
	"hgld/train/history"
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
