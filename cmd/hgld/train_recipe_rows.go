package main

import (
	"errors"
	"io/fs"
	"path/filepath"

	"hgld/train/history"
	"hgld/train/retrieval"
)

// testOf reads the test result of a run. It returns an error if the run was only evaluated
// on validation classes.
func testOf(run string) (*retrieval.Result, error) {
	result, err := readEvaluation(run)
	if err == nil && result.On == "validation" {
		err = withHint(usagef("%s of %s is on the validation classes, but the paper's numbers are on the test",
			history.EvaluationFile, run),
			"name the test with train.query to evaluate it when the run is complete, or evaluate it now with hgld eval run")
	}
	return result, err
}

// readEvaluation reads the last evaluation of a run.
func readEvaluation(run string) (*retrieval.Result, error) {
	path := filepath.Join(run, history.EvaluationFile)
	r, err := history.ReadResult(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(usagef("%s has no %s: the run was not evaluated", run, history.EvaluationFile),
			"hgld train run evaluates at the end if train.query or train.hold_out names the queries")
	}
	return r, err
}
